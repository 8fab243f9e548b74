public import CSignalbox
import SignalboxPluginKit
import Synchronization

/// An event each `every_ms` for one user: a schedule.
///
/// What could not be stored is emitted again, and the dedupe key keeps it from being pushed twice. A bus would
/// acknowledge in `settled` instead.
final class Instance: SourcePlugin {
    private struct State {
        var isRunning = false
        var timer: Host.Timer?
        /// Times of events that are still to be stored.
        var again: [UInt64] = []
    }

    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "an event at regular times",
        configSchema: """
            {"type":"object","required":["user"],"properties":{"user":{"type":"string"},
             "every_ms":{"type":"integer","minimum":10}}}
            """,
        needsMinor: 1)
    private let host: Host
    private let user: String
    private let everyMs: UInt64
    private let state = Mutex(State())

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        user = config["user"]?.string ?? ""
        everyMs = UInt64(max(10, config["every_ms"]?.integer ?? 60_000))
    }

    func resume(batchesMax: Int) throws(PluginError) {
        state.withLock { state in
            state.isRunning = true
            setTimer(&state)
        }
    }

    func pause() throws(PluginError) {
        let timer = state.withLock { state in
            state.isRunning = false
            return state.timer
        }
        timer?.cancel()
    }

    func settled(_ results: [BatchResult]) {
        let missing = results.filter { !$0.isStored }.map(\.token)
        if !missing.isEmpty { state.withLock { $0.again += missing } }
    }

    private func setTimer(_ state: inout State) {
        state.timer = host.after(ms: everyMs) { [weak self] in self?.tick() }
    }

    private func tick() {
        // Held while it emits: nothing is emitted once pause() has returned.
        state.withLock { state in
            guard state.isRunning else { return }
            let times = state.again + [host.nowUnixMs]
            state.again = []
            for time in times {
                var event = Event(type: "tick", data: #"{"title":"It is time"}"#)
                event.dedupe = "tick/\(time)"
                event.timeUnixMs = time
                event.recipients = [Recipient(user: user)]
                do {
                    try host.emit([event], token: time)
                } catch {
                    // Too many are undecided: with the next one.
                    state.again.append(time)
                }
            }
            setTimer(&state)
        }
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
