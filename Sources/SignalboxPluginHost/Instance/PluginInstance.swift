internal import CSignalbox
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// A plugin with a config.
///
/// `@unchecked Sendable`: `raw` is set before the object is handed out and cleared on the control
/// thread after the last call has returned; `isStarted` belongs to the control thread.
public final class PluginInstance: @unchecked Sendable {
    /// Name in gateway.yaml.
    public let name: String
    /// The library.
    public let library: PluginLibrary
    let context: InstanceContext
    private let serial: Gate<Void>?
    private let config: String
    private let onCredentialReady = Mutex<@Sendable () -> Void>({})
    private var control: ControlThread?
    private var raw: OpaquePointer?
    /// Whether start() returned OK: the contract allows stop() only then.
    private var isStarted = false

    private init(
        name: String, library: PluginLibrary, config: String, context: InstanceContext
    ) {
        self.name = name
        self.config = config
        self.library = library
        self.context = context
        serial = library.isSerial ? Gate(()) : nil
    }

    /// Creates an instance from a config that fits the plugin's schema.
    public static func create(
        name: String, library: PluginLibrary, config: CheckedConfig, program: String = "signalbox",
        version: String, services: any HostServices
    ) async throws(PluginFault) -> PluginInstance {
        let context = InstanceContext(
            name: name, program: program, version: version, minor: library.table.abi_minor,
            secrets: config.secrets, services: services, lookup: Services.lookup)
        let json = config.json.text
        let instance = PluginInstance(
            name: name, library: library, config: json, context: context)
        let control = try ControlThread { [weak instance] in instance?.tick() }
        instance.control = control
        if case .some(.some(let fault)) = await control.value({ instance.create() }) {
            control.stop()
            throw fault
        }
        return instance
    }

    private func create() -> PluginFault? {
        do throws(PluginFault) {
            raw = try made(for: context)
            return nil
        } catch {
            return error
        }
    }

    /// Calls create() with a host of its own.
    func made(for context: InstanceContext) throws(PluginFault) -> OpaquePointer {
        let (made, fault) = CallScope.run(of: context.owner, isControl: true) { arena in
            var made: OpaquePointer?
            var error = sbx_error.fresh
            let status = library.table.create(context.host, arena.text(config), &made, &error)
            return (made, status == SBX_OK ? nil : PluginFault(status: status, error: error))
        }
        if let fault { throw fault }
        guard let made else {
            throw PluginFault(.internal, "create() returned OK without an instance")
        }
        return made
    }

    /// Starts the instance; role functions are called only after this.
    public func start(fetches: Bool) async throws(PluginFault) {
        guard let control else { throw PluginFault(.stopping, "the instance is stopped") }
        let started = await control.value { [self] () -> PluginFault? in
            CallScope.run(of: context.owner, isControl: true) { _ in
                var error = sbx_error.fresh
                let status = library.table.start(raw, &error)
                isStarted = status == SBX_OK
                return status == SBX_OK ? nil : PluginFault(status: status, error: error)
            }
        }
        guard let started else { throw PluginFault(.stopping, "the instance is stopped") }
        if let fault = started { throw fault }
        if fetches { control.wake(atNs: 0) }
    }

    /// Sets a function to call on the control thread whenever a credential has a new value.
    public func whenCredentialReady(_ body: @escaping @Sendable () -> Void) {
        onCredentialReady.withLock { $0 = body }
    }

    /// Sets a function to call, on any thread, whenever its endpoints must be asked for again: the file of a secret
    /// has changed, or the plugin says so.
    public func whenEndpointsChange(_ body: @escaping @Sendable () -> Void) {
        context.whenEndpointsChange(body)
    }

    /// Records that a provider refused a credential of this instance. Thread: any.
    public func credentialRefused(_ credential: String) {
        context.credentials.refuse(credential, nowMs: context.services.nowUnixMs)
        control?.wake(atNs: 0)
    }

    /// Fetches the credentials that are missing, also if the last refresh failed. Thread: any.
    public func fetchCredentials() {
        context.credentials.retryFailed(nowMs: context.services.nowUnixMs)
        control?.wake(atNs: 0)
    }

    /// Stops and destroys it.
    ///
    /// No new call begins; running calls have until the deadline. False if the plugin did not end in
    /// time: it is abandoned and never called again.
    public func stop(deadlineMs: UInt64) async -> Bool {
        guard let control else { return true }
        let deadline = SystemClock.monotonicNs + deadlineMs * 1_000_000
        context.source.close()
        let ended = await control.value { [self] () -> Bool in
            guard context.calls.close(deadlineNs: deadline),
                context.timers.stop(deadlineNs: deadline)
            else { return false }
            context.secrets.endWatches()
            guard let raw else { return true }
            if isStarted {
                var error = sbx_error.fresh
                let status = CallScope.run(of: context.owner, isControl: true) { _ in
                    library.table.stop(raw, deadline, &error)
                }
                guard status == SBX_OK else { return false }
            }
            context.flights.end()
            context.observer.end()
            CallScope.run(of: context.owner) { _ in library.table.destroy(raw) }
            self.raw = nil
            return true
        }
        guard let isDone = ended else { return true }
        control.stop()
        if !isDone {
            context.misbehaved("did not stop in time and was abandoned")
            // The plugin may still hold its host.
            _ = Unmanaged.passRetained(self)
        }
        return isDone
    }

    /// Why an event is not given to it now; nil: it is.
    var fullness: PluginFault? {
        context.callOwner.isFull ? PluginCalls.fullFault(name) : nil
    }

    /// The table of a role; nil if the plugin does not have it.
    func role<Table: PluginStruct>(_ id: String, _ type: Table.Type) -> Table? {
        guard library.descriptor.roles.contains(id) else { return nil }
        guard let raw = id.withCString({ library.table.role($0) }) else {
            context.misbehaved("lists the role \(id) and has no table for it")
            return nil
        }
        return context.structs.reading("role(\(id))") { () throws(StructFault) in
            try context.structs.read(raw.assumingMemoryBound(to: Table.self))
        }
    }

    /// Runs a `[worker]` call; nil if the instance is stopping.
    func work<Result>(
        _ kind: CallKind, _ body: (OpaquePointer, CArena) -> Result
    ) -> Result? {
        guard context.calls.enter() else { return nil }
        defer { context.calls.leave() }
        guard let raw else { return nil }
        return context.working(kind) { arena in
            if let serial { serial.update { _ in body(raw, arena) } } else { body(raw, arena) }
        }
    }

    /// Runs a `[worker]` call for which a place in the gate of calls is held already.
    func settled(_ body: (OpaquePointer) -> Void) {
        guard let raw else { return }
        context.working(PluginCalls.settled) { _ in
            if let serial { serial.update { _ in body(raw) } } else { body(raw) }
        }
    }

    /// Runs a `[control]` call and suspends until it returns.
    func controlled<Result: Sendable>(
        _ body: @escaping @Sendable (PluginPointer, CArena) -> Result
    ) async -> Result? {
        guard let control else { return nil }
        return await control.value { [self] in
            raw.map { raw in
                CallScope.run(of: context.owner, isControl: true) { arena in
                    body(PluginPointer(instance: raw), arena)
                }
            }
        } ?? nil
    }

    /// How often an instance with credentials looks whether the clock went back.
    private static let lookMs: UInt64 = 60_000

    private func tick() {
        guard let raw else { return }
        let now = context.services.nowUnixMs
        if context.secrets.hasFiles { rereadSecrets() }
        if context.credentials.lookAtClock(nowMs: now) {
            context.services.log(
                instance: name, level: .warn,
                message: "the clock went back, credentials are renewed", fields: [])
        }
        for (credential, refresh) in context.credentials.due(nowMs: now) {
            refreshNow(credential, refresh, raw)
        }
        let waitMs = context.credentials.nextMs.map { min($0 > now ? $0 - now : 0, Self.lookMs) }
        let wake = min(waitMs ?? .max, context.secrets.hasFiles ? 2_000 : .max)
        if wake != .max { control?.wake(atNs: SystemClock.monotonicNs + wake * 1_000_000) }
    }

    private func refreshNow(
        _ name: String, _ refresh: CredentialTable.Refresh, _ raw: OpaquePointer
    ) {
        var error = sbx_error.fresh
        let status = CallScope.run(of: context.owner, isControl: true) { arena in
            refresh(raw, arena.text(name), &error)
        }
        let now = context.services.nowUnixMs
        if context.credentials.finish(name, status: status, nowMs: now) {
            onCredentialReady.withLock { $0 }()
            return
        }
        let reason =
            status == SBX_OK
            ? "refresh returned OK without set()" : error.words(for: status)
        context.services.log(
            instance: self.name, level: .error, message: "credential cannot be refreshed",
            fields: [Attribute("credential", name), Attribute("error", reason)])
    }
}

/// A plugin's instance on its way to the control thread.
///
/// `@unchecked Sendable`: the plugin's own pointer, which only the plugin dereferences.
struct PluginPointer: @unchecked Sendable {
    let instance: OpaquePointer
}
