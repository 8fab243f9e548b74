internal import Glibc

/// The program's signal handlers; a library may replace them while it is loaded (Go's runtime does), and in each call.
struct SignalHandlers {
    private var saved: [(signal: Int32, action: sigaction)] = []

    /// Those of now.
    init() {
        for signal in Int32(1)...31 where signal != SIGKILL && signal != SIGSTOP {
            var action = sigaction()
            if sigaction(signal, nil, &action) == 0 { saved.append((signal, action)) }
        }
    }

    /// Puts back what was changed since. Returns the signals.
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

    /// What the log says of such a plugin; nil: it changed none.
    static func words(_ changed: [Int32], in call: String) -> String? {
        guard !changed.isEmpty else { return nil }
        let names = changed.map(SignalNames.name).joined(separator: ", ")
        return "changed the handlers of \(names) in \(call), which were put back"
    }

    private static func handler(_ action: sigaction) -> UInt {
        withUnsafeBytes(of: action) { UInt($0.loadUnaligned(as: UInt64.self)) }
    }
}
