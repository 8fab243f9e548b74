internal import CSignalbox
internal import SignalboxCore
internal import SignalboxThreads

/// The host as one plugin instance sees it: what stands behind its `sbx_host`.
///
/// `@unchecked Sendable`: the pointers are set in `init` and only read afterwards.
final class InstanceContext: @unchecked Sendable {
    let name: String
    let services: any HostServices
    let secrets: SecretBox
    let metrics: MetricHandles
    let timers = TimerTable()
    let calls = CallGate()
    let credentials = CredentialTable()
    let flights = FlightTable()
    /// Reads what the plugin hands over.
    let structs: StructReader
    /// Given to the plugin; lives as long as this object.
    let host: UnsafeMutablePointer<sbx_host>
    private let texts: [UnsafeMutablePointer<CChar>]

    init(
        name: String, program: String, version: String, minor: UInt32,
        secrets: [String: PluginSecret], services: any HostServices,
        onStructFault: (@Sendable (StructFault, _ call: String) -> Void)? = nil
    ) {
        self.name = name
        self.services = services
        structs = StructReader(
            minor: minor,
            report: onStructFault ?? { services.misbehaved(instance: name, $0.words(in: $1)) })
        self.secrets = SecretBox(secrets)
        metrics = MetricHandles(instance: name, services: services)
        texts = [program, version, name].map(Self.copy)
        host = .allocate(capacity: 1)
        var table = sbx_host()
        table.struct_size = UInt32(MemoryLayout<sbx_host>.size)
        table.abi_major = SBX_ABI_MAJOR
        table.abi_minor = SBX_ABI_MINOR
        table.name = UnsafePointer(texts[0])
        table.version = UnsafePointer(texts[1])
        table.instance = UnsafePointer(texts[2])
        table.service = { _, id in String(plugin: id).flatMap { Services.table($0) } }
        host.initialize(to: table)
        host.pointee.state = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        host.deallocate()
        for text in texts { text.deallocate() }
    }

    /// The context behind a host that a plugin hands to a service.
    static func from(_ host: UnsafePointer<sbx_host>?) -> InstanceContext? {
        guard let state = host?.pointee.state else { return nil }
        return Unmanaged<InstanceContext>.fromOpaque(state).takeUnretainedValue()
    }

    /// A plugin broke a rule: said once here, in the log and as a number.
    func misbehaved(_ what: String) { services.misbehaved(instance: name, what) }

    /// Whether this thread may call a function of a service that is tagged `[control]`; a plugin that
    /// calls it from elsewhere is told on.
    func isControlCall(_ function: String) -> Bool {
        if CallScope.isControl { return true }
        misbehaved("called \(function) outside of a [control] call")
        return false
    }

    private static func copy(_ text: String) -> UnsafeMutablePointer<CChar> {
        let bytes = Array(text.utf8).filter { $0 != 0 } + [0]
        let room = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { room[index] = CChar(bitPattern: byte) }
        return room
    }
}

/// The thread of an instance's `[control]` calls.
final class ControlThread: Sendable {
    private struct State {
        var jobs: [@Sendable () -> Void] = []
        var wakeNs: UInt64?
        var isStopping = false
        var hasEnded = false
    }

    private enum Next {
        case job(@Sendable () -> Void)
        case tick
        case end
    }

    private let gate = Gate(State())

    /// Starts the thread; `tick` runs whenever the time of `wake` has come.
    init(tick: @escaping @Sendable () -> Void) {
        let gate = gate
        SystemThread.start("sbx-control") { Self.run(gate, tick) }
    }

    /// Runs something after what is waiting. False: the thread has ended.
    @discardableResult
    func run(_ job: @escaping @Sendable () -> Void) -> Bool {
        gate.update { state in
            if !state.hasEnded { state.jobs.append(job) }
            return !state.hasEnded
        }
    }

    /// Runs something and waits for it, by suspending; nil: the thread has ended.
    func value<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
        await withCheckedContinuation { continuation in
            let isTaken = run { continuation.resume(returning: body()) }
            if !isTaken { continuation.resume(returning: nil) }
        }
    }

    /// Asks for a tick at a monotonic time; an earlier one that is set stays.
    func wake(atNs ns: UInt64) {
        gate.update { state in state.wakeNs = min(state.wakeNs ?? .max, ns) }
    }

    /// Lets the thread end after what is waiting; nothing ticks any more.
    func stop() { gate.update { $0.isStopping = true } }

    private static func run(_ gate: Gate<State>, _ tick: () -> Void) {
        while true {
            let next: Next = gate.wait(until: { state in
                if !state.jobs.isEmpty { return (.job(state.jobs.removeFirst()), nil) }
                if state.isStopping {
                    state.hasEnded = true
                    return (.end, nil)
                }
                guard let at = state.wakeNs else { return (nil, nil) }
                if at <= SystemClock.monotonicNs {
                    state.wakeNs = nil
                    return (.tick, nil)
                }
                return (nil, at)
            })
            switch next {
            case .job(let job): job()
            case .tick: tick()
            case .end: return
            }
        }
    }
}
