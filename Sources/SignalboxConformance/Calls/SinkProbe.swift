internal import CSignalbox
internal import Glibc
internal import SignalboxPluginHost
internal import Synchronization

/// The struct of a sink.
protocol SinkTable: SinkStruct {
    /// Replaces every function by one that calls `SinkProbe.pass`.
    static func watch(_ table: inout Self)
}

/// A sink that a plugin gets in place of the host's.
///
/// It notes who calls it and when, and passes the call on.
///
/// It is never freed, so that a plugin that uses it too late is reported and does not crash.
/// `@unchecked Sendable`: `raw` and `inner` are written only in `init`; the rest is locked.
final class SinkProbe<Table: SinkTable & BitwiseCopyable>: @unchecked Sendable {
    private struct State {
        var isOpen = true
        var refusals: [String] = []
        var calls = 0
    }

    /// What the plugin gets: longer than the contract says, like a newer host's.
    let raw: UnsafeMutablePointer<Table>
    /// The host's own sink.
    let inner: UnsafeMutablePointer<Table>
    private let owner = pthread_self()
    private let place: String
    private let why: (String) -> String
    private let state = Mutex(State())

    /// `why` tells for what reason the host's sink refused a call of a function.
    init(
        _ inner: UnsafeMutablePointer<Table>, place: String,
        why: @escaping (_ function: String) -> String = { _ in "" }
    ) {
        self.inner = inner
        self.place = place
        self.why = why
        let size = MemoryLayout<Table>.size + HostProbe.tailBytes
        let room = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        room.initializeMemory(as: UInt8.self, repeating: HostProbe.tailByte, count: size)
        raw = room.bindMemory(to: Table.self, capacity: 1)
        raw.pointee = inner.pointee
        Table.watch(&raw.pointee)
        raw.pointee.owner = Unmanaged.passRetained(self).toOpaque()
    }

    /// Marks the end of the call.
    func close() { state.withLock { $0.isOpen = false } }

    /// The refused calls, and why.
    var refusals: [String] { state.withLock { $0.refusals } }

    /// How often the sink was called.
    var calls: Int { state.withLock { $0.calls } }

    /// Passes a call on if the sink may be used now.
    static func pass(
        _ sink: UnsafeMutablePointer<Table>?, _ function: String, mustBeOwner: Bool = false,
        _ call: (UnsafeMutablePointer<Table>) -> sbx_status
    ) -> sbx_status {
        guard let probe = probe(of: sink), probe.check(function, mustBeOwner: mustBeOwner) else {
            return SBX_E_INVALID
        }
        let status = call(probe.inner)
        if status != SBX_OK {
            let words = CallResult(status: status, words: probe.why(function)).text
            probe.state.withLock { state in
                if state.refusals.count < 16 {
                    state.refusals.append("\(function)() was answered \(words)")
                }
            }
        }
        return status
    }

    /// The same for a function that returns nothing.
    static func pass(
        _ sink: UnsafeMutablePointer<Table>?, _ function: String, else refused: Void,
        _ call: (UnsafeMutablePointer<Table>) -> Void
    ) {
        guard let probe = probe(of: sink), probe.check(function, mustBeOwner: false) else { return }
        call(probe.inner)
    }

    private static func probe(of sink: UnsafeMutablePointer<Table>?) -> SinkProbe? {
        guard let state = sink?.pointee.owner else { return nil }
        return Unmanaged<SinkProbe>.fromOpaque(state).takeUnretainedValue()
    }

    /// Whether this thread may use the sink now.
    private func check(_ function: String, mustBeOwner: Bool) -> Bool {
        let isOpen = state.withLock { state in
            state.calls += 1
            return state.isOpen
        }
        guard isOpen else {
            Findings.shared.fail(
                .threadsSinks, "\(function)() of the sink of \(place) was called after it was over")
            return false
        }
        if mustBeOwner, pthread_equal(owner, pthread_self()) == 0 {
            Findings.shared.fail(
                .threadsSinks, "\(function)() of the sink of \(place) was called on another thread")
            return false
        }
        return true
    }
}
