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
    /// It waits for something unreachable, and start() is retried until that is back.
    private let isWaiting = Atomic(false)
    let wait = Mutex<StartWait?>(nil)

    private init(
        name: String, library: PluginLibrary, config: String, context: InstanceContext,
        controlMs: UInt64
    ) {
        self.name = name
        self.controlMs = controlMs
        self.config = config
        self.library = library
        self.context = context
        serial = library.isSerial ? Gate(()) : nil
    }

    /// How long a `[control]` call may take, in milliseconds.
    private let controlMs: UInt64

    /// Creates an instance from a config that fits the plugin's schema.
    ///
    /// A `[control]` call that takes over `controlMs` fails, and the instance is abandoned.
    public static func create(
        name: String, library: PluginLibrary, config: CheckedConfig, program: String = "signalbox",
        version: String, services: any HostServices,
        controlMs: UInt64 = IsolationOptions().controlMs
    ) async throws(PluginFault) -> PluginInstance {
        let context = InstanceContext(
            name: name, program: program, version: version, minor: library.table.abi_minor,
            secrets: config.secrets, services: services, lookup: Services.lookup)
        let json = config.json.text
        let instance = PluginInstance(
            name: name, library: library, config: json, context: context, controlMs: controlMs)
        let control = try ControlThread { [weak instance] in instance?.tick() }
        instance.control = control
        if let fault = await instance.inTime("create()", { instance.create() }) {
            control.stop()
            throw fault
        }
        return instance
    }

    /// Makes a `[control]` call that may fail. If it does not return in time, only this instance is lost.
    private func inTime(
        _ call: String, _ body: @escaping @Sendable () -> PluginFault?
    ) async -> PluginFault? {
        guard let control else { return PluginFault(.stopping, "the instance is stopped") }
        switch await Within.value(ms: controlMs, { await control.value(body) }) {
        case .some(.some(let fault)): return fault
        case .some(.none): return PluginFault(.stopping, "the instance is stopped")
        case .none:
            abandon()
            return PluginFault(.timeout, "\(call) takes over \(controlMs) ms")
        }
    }

    /// The plugin may still hold its host.
    private func abandon() { _ = Unmanaged.passRetained(self) }

    private func create() -> PluginFault? {
        do throws(PluginFault) {
            if let words = SignalHandlers.words(library.changedSignals, in: "its entry") {
                context.misbehaved(words)
            }
            raw = try made(for: context)
            return nil
        } catch {
            return error
        }
    }

    /// Calls create() with a host of its own.
    func made(for context: InstanceContext) throws(PluginFault) -> OpaquePointer {
        let (made, fault) = guardingSignals("create()") {
            CallScope.run(of: context.owner, isControl: true) { arena in
                var made: OpaquePointer?
                var error = sbx_error.fresh
                let status = library.table.create(context.host, arena.text(config), &made, &error)
                return (made, status == SBX_OK ? nil : PluginFault(status: status, error: error))
            }
        }
        if let fault { throw fault }
        guard let made else {
            throw PluginFault(.internal, "create() returned OK without an instance")
        }
        return made
    }

    /// Makes a call, and puts the program's signal handlers back if the plugin changes them in it.
    private func guardingSignals<Result>(_ call: String, _ body: () -> Result) -> Result {
        let handlers = SignalHandlers()
        let result = body()
        if let words = SignalHandlers.words(handlers.restore(), in: call) {
            context.misbehaved(words)
        }
        return result
    }

    /// Starts the instance; role functions are called only after this.
    public func start(fetches: Bool) async throws(PluginFault) {
        if let fault = await inTime("start()", { [self] in begin() }) {
            // The paths of one that takes requests are known only when it has started.
            guard fault.kind == .unreachable,
                !library.descriptor.roles.contains(SBX_ROLE_INGEST)
            else { throw fault }
            wait(for: fault)
        }
        if fetches { control?.wake(atNs: 0) }
    }

    private func begin() -> PluginFault? {
        guardingSignals("start()") {
            CallScope.run(of: context.owner, isControl: true) { _ in
                var error = sbx_error.fresh
                let status = library.table.start(raw, &error)
                isStarted = status == SBX_OK
                return status == SBX_OK ? nil : PluginFault(status: status, error: error)
            }
        }
    }

    /// What it needs is unreachable: only its own routes wait.
    private func wait(for fault: PluginFault) {
        isWaiting.store(true, ordering: .releasing)
        let next = wait.withLock { wait in
            let next = StartWait(fault, after: wait)
            wait = next
            return next
        }
        context.services.log(
            instance: name, level: .error, message: "the plugin cannot be started yet",
            fields: [
                Attribute("error", fault.message), Attribute("restart_in_ms", "\(next.waitMs)"),
            ])
        control?.wake(atNs: next.dueNs)
    }

    /// Starts it again, after destroying what a failed start() left behind.
    private func startAgain(_ waiting: StartWait) {
        guard waiting.dueNs <= SystemClock.monotonicNs else {
            control?.wake(atNs: waiting.dueNs)
            return
        }
        if let raw { CallScope.run(of: context.owner) { _ in library.table.destroy(raw) } }
        raw = nil
        var fault: PluginFault?
        do throws(PluginFault) {
            raw = try made(for: context)
            fault = begin()
        } catch {
            fault = error
        }
        if let fault { return wait(for: fault) }
        wait.withLock { $0 = nil }
        isWaiting.store(false, ordering: .releasing)
        context.services.log(
            instance: name, level: .info, message: "the plugin is up", fields: [])
        context.endpointsChanged()
        onCredentialReady.withLock { $0 }()
        control?.wake(atNs: 0)
    }

    /// Why no call reaches it: it is not started yet, or has been stopped.
    var absence: PluginFault {
        guard let fault = wait.withLock({ $0?.fault }) else {
            return PluginFault(.stopping, "the gateway is stopping")
        }
        return PluginFault(.again, "the plugin \"\(name)\" is not started: \(fault.message)")
    }

    /// Why no call reaches it at the moment; nil if it serves.
    public var outage: String? {
        wait.withLock { $0?.fault }.map {
            "it cannot be started (\($0.message)), and is tried again"
        }
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
        // A little longer, so that its own "not in time" arrives; a call that never returns is abandoned.
        let ended = await Within.value(ms: deadlineMs + Self.returnMs) { [self] in
            await control.value { [self] in end(deadlineNs: deadline) }
        }
        if case .some(.none) = ended { return true }
        control.stop()
        guard ended == .some(true) else {
            context.misbehaved("did not stop in time and was abandoned")
            abandon()
            return false
        }
        return true
    }

    private static let returnMs: UInt64 = 1_500

    /// False: it has not ended, and may not be destroyed.
    private func end(deadlineNs deadline: UInt64) -> Bool {
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

    /// Why it gets no further event now; nil if it can take one.
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
        guard !isWaiting.load(ordering: .acquiring), let raw else { return nil }
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
        let called = await Within.value(ms: controlMs) { [self] in
            await control.value { [self] in
                isWaiting.load(ordering: .relaxed)
                    ? nil
                    : raw.map { raw in
                        CallScope.run(of: context.owner, isControl: true) { arena in
                            body(PluginPointer(instance: raw), arena)
                        }
                    }
            } ?? nil
        }
        if called == nil { context.misbehaved("a [control] call takes over \(controlMs) ms") }
        return called ?? nil
    }

    /// How often an instance with credentials looks whether the clock went back.
    private static let lookMs: UInt64 = 60_000

    private func tick() {
        if let waiting = wait.withLock({ $0 }) { return startAgain(waiting) }
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
        context.callFault.withLock { $0 = "" }
        let status = CallScope.run(of: context.owner, isControl: true) { arena in
            refresh(raw, arena.text(name), &error)
        }
        let now = context.services.nowUnixMs
        if context.credentials.finish(name, status: status, nowMs: now) {
            onCredentialReady.withLock { $0 }()
            return
        }
        var reason =
            status == SBX_OK
            ? "refresh returned OK without set()" : error.words(for: status)
        let fault = context.callFault.withLock { $0 }
        if !fault.isEmpty { reason += " (\(fault))" }
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
