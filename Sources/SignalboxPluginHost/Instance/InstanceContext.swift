internal import CSignalbox
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The host as one plugin instance sees it: the state behind its `sbx_host`.
///
/// `@unchecked Sendable`: the pointers are set in `init` and only read afterwards.
final class InstanceContext: @unchecked Sendable {
    /// Finds the table of a service by its id.
    typealias ServiceLookup =
        @convention(c) (
            UnsafePointer<sbx_host>?, UnsafePointer<CChar>?
        ) -> UnsafeRawPointer?

    let name: String
    let services: any HostServices
    let secrets: SecretBox
    let metrics: MetricHandles
    let timers = TimerTable()
    let calls = CallGate()
    /// Owner of these calls, for the watchdog of the worker threads.
    let callOwner: CallOwner
    let credentials = CredentialTable()
    /// What the last `call()` of `sbx.http/1` failed with: a plugin gets the status alone, an operator needs the host and the reason.
    let callFault = Mutex("")
    let flights = FlightTable()
    let source = SourceBatches()
    let observer = ObserverBatch()
    /// What it may log; nil in a process of its own, where the gateway counts.
    private let logQuota: LogQuota?
    private let onEndpointsChanged = Mutex<@Sendable () -> Void>({})
    /// Reads what the plugin hands over.
    let structs: StructReader
    /// Given to the plugin; lives as long as this object.
    let host: UnsafeMutablePointer<sbx_host>
    private let texts: [UnsafeMutablePointer<CChar>]
    /// The embedding program and its version.
    let program: String
    let version: String
    /// The instance's name, for `CallScope`; lives as long as this object.
    var owner: UnsafePointer<CChar> { UnsafePointer(texts[2]) }

    init(
        name: String, program: String, version: String, minor: UInt32,
        secrets: [String: PluginSecret], services: any HostServices, lookup: ServiceLookup,
        onStructFault: (@Sendable (StructFault, _ call: String) -> Void)? = nil
    ) {
        self.name = name
        callOwner = CallOwner(name)
        self.program = program
        self.version = version
        self.services = services
        logQuota = services.isRemote ? nil : LogQuota()
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
        table.service = lookup
        host.initialize(to: table)
        host.pointee.state = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit {
        host.deallocate()
        for text in texts { text.deallocate() }
    }

    /// The context of the host that a plugin passes to a service.
    static func from(_ host: UnsafePointer<sbx_host>?) -> InstanceContext? {
        guard let state = host?.pointee.state else { return nil }
        return Unmanaged<InstanceContext>.fromOpaque(state).takeUnretainedValue()
    }

    /// Sets a function to call whenever the plugin's endpoints must be asked for again. Thread: any.
    func whenEndpointsChange(_ body: @escaping @Sendable () -> Void) {
        onEndpointsChanged.withLock { $0 = body }
    }

    /// The plugin's endpoints must be asked for again.
    func endpointsChanged() { onEndpointsChanged.withLock { $0 }() }

    /// Whether the plugin may log one more line now.
    func mayLog() -> Bool {
        logQuota?.admits { services.log(instance: name, level: .warn, message: $0, fields: []) }
            ?? true
    }

    /// Reports that the plugin broke a rule, in the log and as a metric.
    func misbehaved(_ what: String) { services.misbehaved(instance: name, what) }

    /// Whether this thread may call a service function tagged `[control]`; a call from anywhere else is
    /// reported.
    func isControlCall(_ function: String) -> Bool {
        if CallScope.isControl { return true }
        misbehaved("called \(function) outside of a [control] call")
        return false
    }

    /// Runs a call of a worker into the plugin.
    func working<Result>(_ kind: CallKind, _ body: (CArena) -> Result) -> Result {
        WorkerThreads.watched(callOwner, kind) { CallScope.run(of: owner, body) }
    }

    /// Starts work whose answer reaches the plugin later, on a worker; a stop waits for the answer.
    ///
    /// `start` gets a function that runs the answer; it must call it exactly once if it returns OK.
    func answering(
        _ start: (@escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> sbx_status
    ) -> sbx_status {
        guard calls.enter() else { return SBX_E_STOPPING }
        let status = start { [self] answer in
            services.onWorker {
                defer { self.calls.leave() }
                self.working(PluginCalls.callback) { _ in answer() }
            }
        }
        if status != SBX_OK { calls.leave() }
        return status
    }

    private static func copy(_ text: String) -> UnsafeMutablePointer<CChar> {
        let bytes = Array(text.utf8).filter { $0 != 0 } + [0]
        let room = UnsafeMutablePointer<CChar>.allocate(capacity: bytes.count)
        for (index, byte) in bytes.enumerated() { room[index] = CChar(bitPattern: byte) }
        return room
    }
}
