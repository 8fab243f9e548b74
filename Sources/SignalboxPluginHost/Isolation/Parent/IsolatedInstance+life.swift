internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// Starts, ends and restarts the process. Unless noted, this runs on the control thread, which lives as
/// long as the instance, because a process dies with the thread that started it.
extension IsolatedInstance {
    private var controlDeadlineNs: UInt64 {
        SystemClock.monotonicNs + options.controlMs * 1_000_000
    }

    // MARK: Starting

    /// Starts a process and creates the instance in it.
    func open() -> PluginFault? {
        let server = HostCallServer(name: name, services: services, secrets: secrets)
        let child: IsolatedChild
        do throws(PluginFault) {
            child = try IsolatedChild(
                command: options.runner + ["plugins", "run-isolated", name], plan: plan,
                log: { [name, services] line in
                    services.log(
                        instance: name, level: .warn, message: line,
                        fields: [Attribute("stream", "stderr")])
                },
                handle: { [weak self] child, method, frame throws(WireFault) in
                    if try server.handle(method, frame, child.peer) { return }
                    try self?.take(method, frame, from: child)
                },
                onGone: { [weak self] child in self?.isGone(child) },
                onEnd: { [weak self] child, fault in
                    guard let self else {
                        child.kill(because: "its instance is gone")
                        _ = child.reap()
                        return
                    }
                    self.hasEnded(child, fault)
                })
        } catch {
            return error
        }
        let isWanted = state.update { state in
            state.child = child
            return !state.isStopping || !state.isMaking
        }
        guard isWanted else { return give(up: child, PluginFault(.stopping, "it is stopping")) }
        let message = CreateMessage(
            name: name, program: program.name, programVersion: program.version,
            library: library.path,
            sha256: library.wantedSHA256, confinement: plan.confinement, config: config,
            secrets: secrets.all,
            logLevels: logLevels,
            asksForTime: !services.hasSystemClock, workers: Self.threadCount)
        let made: Result<WireResult<LibraryFacts>, PluginFault> = ask(
            child, .create, "create()"
        ) { $0.put(message) }
        switch made.flatMap(\.result) {
        case .failure(let fault): return give(up: child, fault)
        case .success(LibraryFacts(library)): return nil
        case .success:
            return give(
                up: child,
                PluginFault(
                    .version,
                    "\(library.path) now holds another plugin or config schema: reload the "
                        + "configuration"))
        }
    }

    /// Starts the instance in its process.
    func begin() -> PluginFault? {
        guard let child = state.update({ $0.child }) else { return Self.gone }
        let begun: Result<WireResult<WireNothing>, PluginFault> = ask(child, .start, "start()")
        if case .failure(let fault) = begun.flatMap(\.result) { return fault }
        return nil
    }

    /// Asks the process for its roles.
    func askRoles(_ limits: Limits) -> Result<RoleFacts, PluginFault> {
        guard let child = state.update({ $0.child }) else { return .failure(Self.gone) }
        let asked: Result<WireResult<RoleFacts>, PluginFault> = ask(child, .roles, "paths()") {
            $0.put(limits)
        }
        let facts = asked.flatMap(\.result)
        if case .success(let facts) = facts {
            state.update { state in
                state.limits = limits
                state.facts = facts
            }
        }
        return facts
    }

    /// Asks the current process to resume or pause its source; a fault of kind `lost` if no process runs.
    func askSource(
        _ method: WireMethod, _ write: @escaping @Sendable (WireWriter) -> Void
    ) async -> PluginFault? {
        guard let control else { return PluginFault(.stopping, "the instance is stopped") }
        let asked = await control.value { [self] () -> PluginFault? in
            guard let child = state.update({ $0.isUp ? $0.child : nil }) else { return Self.gone }
            return askSource(child, method, write)
        }
        return asked ?? PluginFault(.stopping, "the instance is stopped")
    }

    /// The same of a process, on the control thread.
    func askSource(
        _ child: IsolatedChild, _ method: WireMethod, _ write: (WireWriter) -> Void
    ) -> PluginFault? {
        let what = method == .resumeSource ? "resume()" : "pause()"
        let asked: Result<WireResult<WireNothing>, PluginFault> = ask(child, method, what, write)
        if case .failure(let fault) = asked.flatMap(\.result) { return fault }
        return nil
    }

    /// Marks the instance as serving: from now on its process is restarted when it ends.
    func isServing() {
        state.updateAll { state in
            // The process may have just ended; then it is restarted.
            guard let child = state.child, !child.peer.isGone else { return }
            state.isUp = true
            state.lastFault = nil
            state.upSinceNs = SystemClock.monotonicNs
        }
        isUp(state.update { $0.isUp })
        services.metric(instance: name, name: "restarts_total", labels: [], isGauge: false)?.add(0)
    }

    private func isUp(_ isUp: Bool) {
        services.metric(instance: name, name: "up", labels: [], isGauge: true)?.set(isUp ? 1 : 0)
    }

    private static let gone = PluginFault(.lost, "its process has ended")

    private var logLevels: UInt32 {
        (UInt32(0)...4).reduce(0) { mask, level in
            let isKept = PluginLogLevel(rawValue: level).map { services.isLogged($0) } ?? false
            return mask | (isKept ? 1 << level : 0)
        }
    }

    /// Calls the process from the control thread; fails with kind `lost` if the process ends meanwhile.
    private func ask<Answer: WireValue>(
        _ child: IsolatedChild, _ method: WireMethod, _ what: String,
        _ write: (WireWriter) -> Void = { _ in }
    ) -> Result<Answer, PluginFault> {
        switch child.peer.call(method, deadlineNs: controlDeadlineNs, write) {
        case .success(let frame):
            do throws(WireFault) {
                return .success(try Answer(reading: frame))
            } catch {
                return .failure(malformed(child, method, error))
            }
        case .failure(.tooLong):
            return .failure(PluginFault(.tooLarge, "its config and secrets are too large"))
        case .failure(.late):
            child.kill(because: "\(what) takes over \(options.controlMs) ms")
            return .failure(PluginFault(.lost, "its process \(child.reap())"))
        case .failure(.gone), .failure(.closed):
            return .failure(PluginFault(.lost, "in \(what) its process \(child.reap())"))
        }
    }

    /// Ends a child that cannot be used, and returns the fault.
    private func give(up child: IsolatedChild, _ fault: PluginFault) -> PluginFault {
        state.update { if $0.child === child { $0.child = nil } }
        child.kill(because: "it cannot be used")
        _ = child.reap()
        return fault
    }

    // MARK: Ending

    /// The process has closed its socket: no more calls go to it. Thread: the reading thread.
    private func isGone(_ child: IsolatedChild) {
        let wasUp = state.update { state -> Bool in
            guard state.child === child, state.isUp else { return false }
            state.isUp = false
            return true
        }
        if wasUp { isUp(false) }
    }

    /// All calls that waited for the process have been told of its end. Thread: the reading thread.
    private func hasEnded(_ child: IsolatedChild, _ fault: WireFault?) {
        if let fault { _ = malformed(child, nil, fault) }
        let isFirst = !child.flights.hasSettled
        let flights = child.flights.end()
        // The code that stops the process also reaps it.
        guard !state.update({ $0.isStopping }) else { return }
        giveBack(flights, isFirst: isFirst, lostCalls: child.peer.lostCount)
        control?.run { [weak self] in self?.bury(child) }
    }

    /// Reaps a process that has ended, and schedules a new one if it served.
    private func bury(_ child: IsolatedChild) {
        let waiting = child.peer.lostCount
        let how = child.reap()
        let now = SystemClock.monotonicNs
        let waitMs = state.update { state -> UInt64? in
            guard state.child === child else { return nil }
            state.child = nil
            guard state.facts != nil, !state.isStopping else { return nil }
            let upMs = state.upSinceNs == 0 ? 0 : (now - state.upSinceNs) / 1_000_000
            state.upSinceNs = 0
            return state.backOff.ended(
                afterMs: upMs, hasWorked: child.hasWorked.load(ordering: .relaxed))
        }
        guard let waitMs else { return }
        services.log(
            instance: name, level: .error, message: "the plugin's process \(how)",
            fields: [
                Attribute("process.id", "\(child.process.pid)"),
                Attribute("calls.lost", "\(waiting)"), Attribute("restart_in_ms", "\(waitMs)"),
            ])
        schedule(inMs: waitMs)
    }

    /// The cause of the crash is known and blocked, so the restart need not back off as after repeated crashes.
    func causeIsFound() {
        let waitMs = state.update { state -> UInt64? in
            state.backOff.reset()
            return state.dueNs == nil ? nil : state.backOff.firstMs
        }
        if let waitMs { schedule(inMs: waitMs) }
    }

    private func schedule(inMs ms: UInt64) {
        let due = SystemClock.monotonicNs + ms * 1_000_000
        state.update { $0.dueNs = due }
        control?.wake(atNs: due)
    }

    /// Tells the lanes at a monotonic time that there is room. Thread: any.
    func callForMore(atNs ns: UInt64) {
        state.update { $0.roomNs = ns }
        control?.wake(atNs: ns)
    }

    // MARK: Restarting

    /// Does what is due.
    func tick() {
        let hasRoom = state.update { state -> Bool in
            guard let at = state.roomNs, at <= SystemClock.monotonicNs else { return false }
            state.roomNs = nil
            return true
        }
        if hasRoom { listeners.withLock { $0.room }() }
        restart()
        // A tick may have come for one of the two, and took the time of the other with it.
        let laterNs = state.update { state in
            state.isStopping ? nil : [state.roomNs, state.dueNs].compactMap { $0 }.min()
        }
        if let laterNs { control?.wake(atNs: laterNs) }
    }

    /// Restarts the process if it is due.
    private func restart() {
        let isDue = state.update { state -> Bool in
            guard let due = state.dueNs, !state.isStopping, due <= SystemClock.monotonicNs else {
                return false
            }
            state.dueNs = nil
            state.isMaking = true
            return true
        }
        guard isDue else { return }
        services.metric(instance: name, name: "restarts_total", labels: [], isGauge: false)?.add(1)
        takeSecrets()
        let fault = open() ?? begin() ?? again()
        let isStopping = state.update { state in
            state.isMaking = false
            return state.isStopping
        }
        guard let fault else { return isStopping ? () : cameBack() }
        guard !isStopping else { return }
        if let child = state.update({ $0.child }) { _ = give(up: child, fault) }
        let waitMs = state.update { state in
            state.lastFault = fault.message
            return state.backOff.ended(afterMs: 0)
        }
        services.log(
            instance: name, level: .error, message: "the plugin could not be restarted",
            fields: [
                Attribute("error", fault.message), Attribute("restart_in_ms", "\(waitMs)"),
            ])
        schedule(inMs: waitMs)
    }

    /// Takes over what the files of its secrets hold now. The new process tries what the schema does not know.
    private func takeSecrets() {
        let schema = library.configSchema.flatMap { try? ConfigSchema.parse($0) }
        let news = secrets.look(services.readFile).news.filter { name, bytes in
            schema?.fault(ofSecret: name, bytes) == nil
        }
        _ = secrets.take(news)
    }

    private func again() -> PluginFault? {
        let limits = state.update { $0.limits }
        if case .failure(let fault) = askRoles(limits) { return fault }
        return nil
    }

    private func cameBack() {
        isServing()
        services.log(
            instance: name, level: .info, message: "the plugin is up again", fields: [])
        listeners.withLock { $0.credentialReady }()
        listeners.withLock { $0.room }()
        if let child = state.update({ $0.child }) { listeners.withLock { $0.again }(child) }
    }

    // MARK: Stopping

    func close(_ deadlineMs: UInt64) {
        guard let child = state.update({ $0.child }) else { return }
        // A little longer, so that the plugin's own "not in time" arrives.
        let deadline = SystemClock.monotonicNs + (deadlineMs + 500) * 1_000_000
        switch child.peer.call(.stop, deadlineNs: deadline, { $0.put(deadlineMs) }) {
        case .success: break
        case .failure(.late):
            services.misbehaved(
                instance: name, "did not stop in time, so its process was ended")
            child.kill(because: "it did not stop in time")
        case .failure: break
        }
        state.updateAll { state in
            state.child = nil
            state.isUp = false
        }
        _ = child.reap()
        isUp(false)
    }
}
