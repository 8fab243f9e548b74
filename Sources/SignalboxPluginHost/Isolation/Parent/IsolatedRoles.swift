public import SignalboxCore
internal import Synchronization

extension IsolatedInstance {
    /// Its roles; asked for after `start`, and the same each time.
    public func roles(limits: Limits) async throws(PluginFault) -> PluginRoles {
        guard let control else { throw PluginFault(.stopping, "the instance is stopped") }
        if let known = made.withLock({ $0 }) { return known }
        guard let asked = await control.value({ [self] in askRoles(limits) }) else {
            throw PluginFault(.stopping, "the instance is stopped")
        }
        let facts = try asked.get()
        var roles = PluginRoles()
        let trial = EventTrial(
            waitMs: options.workMs, onFound: { [weak self] in self?.causeIsFound() })
        if let paths = facts.paths {
            roles.ingest = IsolatedIngest(self, trial, paths: paths, limits: limits)
        }
        if facts.filters { roles.filter = IsolatedFilter(self, trial) }
        if facts.builds { roles.build = IsolatedBuilder(self, trial) }
        roles.sendHTTP = facts.sendHTTP.map {
            IsolatedTranslator(self, .sendHTTP, maxBatch: $0.maxBatch)
        }
        roles.send = facts.send.map { IsolatedSender(self, maxBatch: $0.maxBatch) }
        roles.register = facts.register.map {
            IsolatedReporter(
                IsolatedTranslator(self, .register, maxBatch: $0.maxBatch), kinds: $0.kinds)
        }
        roles.observe = facts.observe.map { IsolatedObserver(self, maxBatch: $0.maxBatch) }
        if facts.isSource { roles.source = IsolatedSource(self, limits: limits) }
        made.withLock { [roles] in $0 = roles }
        isServing()
        return roles
    }
}

/// The ingest role of an isolated instance.
final class IsolatedIngest: Ingesting {
    let paths: [IngestPath]
    private let instance: IsolatedInstance
    private let limits: Limits
    private let trial: EventTrial

    init(
        _ instance: IsolatedInstance, _ trial: EventTrial, paths: [IngestPath], limits: Limits
    ) {
        self.instance = instance
        self.trial = trial
        self.paths = paths
        self.limits = limits
    }

    var instanceName: String { instance.name }

    /// Hands a request to the plugin. A request lost with the process fails with kind `again`, so that its
    /// source sends it again, and with `lost` if it ends the process each time.
    func handle(_ request: IngestRequest, done: @escaping @Sendable (IngestResult) -> Void) {
        let worked = instance.waiting(forEvent: PluginCalls.handle) {
            trial.ask(request) { instance.current().flatMap { ask($0, request, done) } }
        }
        switch worked {
        case .failure(let end): done(failed(end))
        case .success(let (child, frame)): take(frame, child, done)
        }
    }

    private func ask(
        _ child: IsolatedChild, _ request: IngestRequest,
        _ done: @escaping @Sendable (IngestResult) -> Void
    ) -> Result<(IsolatedChild, WireFrame), WorkEnd> {
        instance.work(
            child, .ingest,
            onAnswer: { [self] frame in
                guard let frame else { return done(failed(.lost(isAlone: false))) }
                done(result(child) { () throws(WireFault) in try IngestResult(reading: frame) })
            }, { $0.put(request) }
        ).map { (child, $0) }
    }

    private func take(
        _ frame: WireFrame, _ child: IsolatedChild,
        _ done: @escaping @Sendable (IngestResult) -> Void
    ) {
        let message: IngestMessage
        do throws(WireFault) {
            message = try IngestMessage(reading: frame)
        } catch {
            // The end of the process ends the request.
            _ = instance.malformed(child, .ingest, error)
            return
        }
        switch message {
        case .done(let made):
            // If the call is no longer open, the process ended first, and that has ended the request.
            guard child.peer.forget(frame.call) else { return }
            done(result(child) { made })
        case .deferred(let ms):
            // The plugin's process enforces the timeout itself; this one is for a process that hangs.
            instance.services.onWorker(afterMs: UInt64(ms) + 1_000) { [self] in
                guard child.peer.forget(frame.call) else { return }
                done(failed(PluginFault(.timeout, "the request took too long")))
            }
        }
    }

    /// A result within the limits; a process that gives any other is ended.
    private func result(
        _ child: IsolatedChild, _ read: () throws(WireFault) -> IngestResult
    ) -> IngestResult {
        do throws(WireFault) {
            var result = try read()
            try IngestRules.check(&result, limits, source: instance.name)
            return result
        } catch {
            _ = instance.malformed(child, .ingest, error)
            return failed(.lost(isAlone: true))
        }
    }

    private func failed(_ end: WorkEnd) -> IngestResult { failed(end.fault(instance.name)) }

    private func failed(_ fault: PluginFault) -> IngestResult {
        var result = IngestResult()
        result.fault = fault
        return result
    }
}

/// The build role of an isolated instance.
final class IsolatedBuilder: Building {
    private let instance: IsolatedInstance
    private let trial: EventTrial

    init(_ instance: IsolatedInstance, _ trial: EventTrial) {
        self.instance = instance
        self.trial = trial
    }

    /// Builds notifications; fails with kind `again` if there is no process or it ended meanwhile, and with `lost` if this
    /// event ends it each time.
    func build(
        _ event: Event, recipients: [Recipient], route: String, options: JSONText
    ) -> Result<BuildResult, PluginFault> {
        let asked = instance.waiting(forEvent: PluginCalls.build) {
            trial.ask(event, route: route) {
                ask(event, recipients, route: route, options: options)
            }
        }
        return asked.mapError { $0.fault(instance.name) }.flatMap(\.result)
    }

    private func ask(
        _ event: Event, _ recipients: [Recipient], route: String, options: JSONText
    ) -> Result<WireResult<BuildResult>, WorkEnd> {
        instance.ask(
            .build,
            {
                $0.put(
                    BuildMessage(
                        event: event, recipients: recipients, route: route,
                        options: options.text))
            },
            check: { answer throws(WireFault) in
                guard case .success(let built) = answer.result else { return }
                let named =
                    built.contents.flatMap { $0.targets.map(\.recipient) }
                    + built.skips.map(\.recipient)
                guard named.allSatisfy({ $0 < recipients.count }) else {
                    throw WireFault("there is no such recipient")
                }
            })
    }
}
