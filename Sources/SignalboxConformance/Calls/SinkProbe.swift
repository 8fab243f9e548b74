internal import CSignalbox
internal import Glibc
internal import SignalboxPluginHost
internal import Synchronization

/// A sink that a plugin gets in place of the host's.
///
/// It notes who calls it and when, and passes the call on.
///
/// It is never freed, so that a plugin that uses it too late is reported and does not crash.
/// `@unchecked Sendable`: `raw` and `inner` are written only in `init`; the rest is locked.
final class SinkProbe<Table: BitwiseCopyable>: @unchecked Sendable {
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
    private let state = Mutex(State())

    /// `fill` replaces the table's functions; its `state` leads back here.
    init(
        _ inner: UnsafeMutablePointer<Table>, place: String,
        fill: (inout Table, UnsafeMutableRawPointer) -> Void
    ) {
        self.inner = inner
        self.place = place
        let size = MemoryLayout<Table>.size + HostProbe.tailBytes
        let room = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        room.initializeMemory(as: UInt8.self, repeating: HostProbe.tailByte, count: size)
        raw = room.bindMemory(to: Table.self, capacity: 1)
        raw.pointee = inner.pointee
        fill(&raw.pointee, Unmanaged.passRetained(self).toOpaque())
    }

    /// The probe that a table's `state` leads to.
    static func from(_ state: UnsafeMutableRawPointer?) -> SinkProbe? {
        state.map { Unmanaged<SinkProbe>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Marks the end of the call.
    func close() { state.withLock { $0.isOpen = false } }

    /// The refused calls, and why.
    var refusals: [String] { state.withLock { $0.refusals } }

    /// How often the sink was called.
    var calls: Int { state.withLock { $0.calls } }

    /// Passes a call on if the sink may be used now.
    func pass(
        _ function: String, mustBeOwner: Bool = false, why: () -> String = { "" },
        _ call: (UnsafeMutablePointer<Table>) -> sbx_status
    ) -> sbx_status {
        guard check(function, mustBeOwner: mustBeOwner) else { return SBX_E_INVALID }
        let status = call(inner)
        if status != SBX_OK {
            let reason = why()
            let words = CallResult(status: status, words: reason).text
            state.withLock { state in
                if state.refusals.count < 16 {
                    state.refusals.append("\(function)() was answered \(words)")
                }
            }
        }
        return status
    }

    /// Whether this thread may use the sink now.
    func check(_ function: String, mustBeOwner: Bool) -> Bool {
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

/// The sinks of the roles.
enum SinkProbes {
    typealias HTTP = SinkProbe<sbx_http_sink>
    typealias Build = SinkProbe<sbx_build_sink>
    typealias Filter = SinkProbe<sbx_filter_sink>
    typealias Ingest = SinkProbe<sbx_ingest_sink>

    /// Wraps the sink of prepare() or classify(); `sink` says why it refused.
    static func http(
        _ sink: HTTPSink, _ arena: CArena, place: String
    ) -> HTTP {
        HTTP(sink.table(in: arena), place: place) { table, state in
            table.state = state
            table.request = { sink, requests, count, stride in
                guard let probe = HTTP.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("request", mustBeOwner: true, why: { SinkProbes.refusal(probe) })
                {
                    $0.pointee.request($0, requests, count, stride)
                }
            }
            table.settle = { sink, outcomes, count, stride in
                guard let probe = HTTP.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("settle", mustBeOwner: true, why: { SinkProbes.refusal(probe) }) {
                    $0.pointee.settle($0, outcomes, count, stride)
                }
            }
        }
    }

    private static func refusal(_ probe: HTTP) -> String {
        guard let state = probe.inner.pointee.state else { return "" }
        return Unmanaged<HTTPSink>.fromOpaque(state).takeUnretainedValue().refusal
    }

    private static func refusal(_ probe: Ingest) -> String {
        guard let state = probe.inner.pointee.state else { return "" }
        return Unmanaged<IngestSink>.fromOpaque(state).takeUnretainedValue().refusal
    }

    /// Wraps the sink of build().
    static func build(_ sink: BuildSink, _ arena: CArena) -> Build {
        Build(sink.table(in: arena), place: "build()") { table, state in
            table.state = state
            table.emit = { sink, notification, targets, count, stride in
                guard let probe = Build.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("emit") {
                    $0.pointee.emit($0, notification, targets, count, stride)
                }
            }
            table.skip = { sink, recipient, reason in
                guard let probe = Build.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("skip") { $0.pointee.skip($0, recipient, reason) }
            }
        }
    }

    /// Wraps the sink of filter().
    static func filter(_ sink: FilterSink, _ arena: CArena) -> Filter {
        Filter(sink.table(in: arena), place: "filter()") { table, state in
            table.state = state
            table.pass = { sink, part in
                guard let probe = Filter.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("pass") { $0.pointee.pass($0, part) }
            }
            table.drop = { sink, recipients, count, reason in
                guard let probe = Filter.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("drop") { $0.pointee.drop($0, recipients, count, reason) }
            }
        }
    }

    /// Wraps the sink of handle().
    static func ingest(_ sink: IngestSink) -> Ingest {
        Ingest(sink.table, place: "handle()") { table, state in
            table.state = state
            table.emit = { sink, events, count, stride in
                guard let probe = Ingest.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("emit", why: { SinkProbes.refusal(probe) }) {
                    $0.pointee.emit($0, events, count, stride)
                }
            }
            table.change = { sink, changes, count, stride in
                guard let probe = Ingest.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("change") { $0.pointee.change($0, changes, count, stride) }
            }
            table.reject = { sink, reason, detail in
                guard let probe = Ingest.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("reject") { $0.pointee.reject($0, reason, detail) }
            }
            table.respond = { sink, status, headers, count, body in
                guard let probe = Ingest.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("respond") {
                    $0.pointee.respond($0, status, headers, count, body)
                }
            }
            table.defer = { sink, timeout in
                guard let probe = Ingest.from(sink?.pointee.state) else { return SBX_E_INVALID }
                return probe.pass("defer") { inner in inner.pointee.defer(inner, timeout) }
            }
            table.finish = { sink, status, error in
                guard let probe = Ingest.from(sink?.pointee.state),
                    probe.check("finish", mustBeOwner: false)
                else { return }
                probe.inner.pointee.finish(probe.inner, status, error)
            }
        }
    }
}
