internal import Glibc

/// The program's signal handlers; a library may replace them while it is loaded (Go's runtime does), and in each call.
struct SignalHandlers {
    private var saved: [(signal: Int32, action: sigaction)] = []

    /// Saves the current handlers.
    init() {
        for signal in Int32(1)...31 where signal != SIGKILL && signal != SIGSTOP {
            var action = sigaction()
            if sigaction(signal, nil, &action) == 0 { saved.append((signal, action)) }
        }
    }

    /// Restores the handlers that were replaced since. Returns their signals.
    func restore() -> [Int32] {
        var changed: [Int32] = []
        for (signal, action) in saved {
            var now = sigaction()
            guard sigaction(signal, nil, &now) == 0, Self.handler(now) != Self.handler(action)
            else { continue }
            var action = action
            if sigaction(signal, &action, nil) == 0 { changed.append(signal) }
        }
        return changed
    }

    /// The log message about such a plugin; nil if it changed no handler.
    static func words(_ changed: [Int32], in call: String) -> String? {
        guard !changed.isEmpty else { return nil }
        let names = changed.map(SignalNames.name).joined(separator: ", ")
        return "changed the handlers of \(names) in \(call), which were put back"
    }

    private static func handler(_ action: sigaction) -> UInt {
        withUnsafeBytes(of: action) { UInt($0.loadUnaligned(as: UInt64.self)) }
    }
}
