internal import CLinux
internal import Glibc
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxThreads
internal import Synchronization

/// Runs one instance in the process of an isolated plugin, for the gateway at the other end of a socket.
public final class IsolatedRunner: Sendable {
    private struct State {
        var instance: PluginInstance?
        var workers: WorkerThreads?
        var roles = PluginRoles()
        /// Undecided batches of the source, by number.
        var batches: [UInt64: @Sendable (SourceVerdict) -> Void] = [:]
        var batchNumber: UInt64 = 0
    }

    private let peer: WirePeer
    private let state = Mutex(State())

    private init(_ peer: WirePeer) { self.peer = peer }

    /// Serves the gateway that started this process, and ends the process when the gateway is gone.
    public static func run() async {
        // Even a plugin in an endless loop must not outlive its gateway. (In a sandbox it is done already.)
        _ = linux_die_with_parent()
        // Signals from Ctrl-C or a service manager are for the gateway, which ends this process after draining.
        for number in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { signal(number, SIG_IGN) }
        var facts = stat()
        guard fstat(RunnerProcess.socket, &facts) == 0, facts.st_mode & S_IFMT == S_IFSOCK else {
            fail("only a gateway runs this command, for plugins with isolation: process")
        }
        // Processes that the plugin starts must not reach the gateway.
        _ = fcntl(RunnerProcess.socket, F_SETFD, FD_CLOEXEC)
        let runner = IsolatedRunner(WirePeer(WireChannel(socket: RunnerProcess.socket)))
        SystemThread.start("sbx-parent") {
            do throws(WireFault) {
                try runner.peer.run { method, frame throws(WireFault) in
                    try runner.take(method, frame)
                }
            } catch {
                fail("the gateway sent a malformed message: \(error.what)")
            }
            _exit(0)
        }
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
    }

    private static func fail(_ words: String) -> Never {
        let line = Array("signalbox: \(words)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        _exit(70)
    }

    /// Thread: the reading thread, so nothing here may block.
    private func take(_ method: WireMethod, _ frame: WireFrame) throws(WireFault) {
        switch method {
        case .create:
            let message: CreateMessage
            do throws(WireFault) {
                message = try CreateMessage(reading: frame)
            } catch {
                let fault = PluginFault(.version, error.what)
                peer.reply(to: frame) { $0.put(WireResult<LibraryFacts>(.failure(fault))) }
                return
            }
            Task { await create(message, frame) }
        case .start:
            answer(frame) { () async throws(PluginFault) in try await self.instance().start() }
        case .roles:
            let limits = try Limits(reading: frame)
            answer(frame) { () async throws(PluginFault) in try await self.roles(limits) }
        case .resumeSource:
            let batchesMax = try Int(reading: frame)
            answer(frame) { () async throws(PluginFault) in
                let peer = self.peer
                try await self.source().resume(
                    batchesMax: batchesMax, take: { self.emit($0) },
                    onCondition: { fault in peer.tell(.condition) { $0.put(fault) } })
            }
        case .pauseSource:
            answer(frame) { () async throws(PluginFault) in try await self.source().pause() }
        case .settled:
            let message = try SettledMessage(reading: frame)
            state.withLock { $0.batches.removeValue(forKey: message.number) }?(message.verdict)
        case .endpoint:
            let asked = try EndpointMessage(reading: frame)
            answer(frame) { () async throws(PluginFault) in
                try await self.translator(asked.role).endpoint(app: asked.app)
            }
        case .stop:
            let deadlineMs = try UInt64(reading: frame)
            Task {
                let isStopped = await state.withLock { $0.instance }?.stop(deadlineMs: deadlineMs)
                peer.reply(to: frame) { $0.put(isStopped ?? true) }
            }
        default:
            guard let workers = state.withLock({ $0.workers }) else {
                throw WireFault("\(method) came before an instance")
            }
            workers.submitBounded { self.work(method, frame) }
        }
    }

    // MARK: Control

    private func answer<Value: WireValue>(
        _ frame: WireFrame, _ work: @escaping @Sendable () async throws(PluginFault) -> Value
    ) {
        Task {
            let made = await Self.result(work)
            peer.reply(to: frame) { $0.put(made) }
        }
    }

    private func answer(
        _ frame: WireFrame, _ work: @escaping @Sendable () async throws(PluginFault) -> Void
    ) {
        answer(frame) { () async throws(PluginFault) in
            try await work()
            return WireNothing()
        }
    }

    private func create(_ message: CreateMessage, _ frame: WireFrame) async {
        let workers = WorkerThreads(count: Int(message.workers), waitingMax: .max)
        let services = RemoteServices(
            peer, logLevels: message.logLevels, asksForTime: message.asksForTime,
            workers: workers)
        let made = await Self.result { () async throws(PluginFault) in
            if message.confinement == .sandbox, !Confiner.isSandbox {
                throw PluginFault(
                    .unsupported,
                    "its process is no sandbox: the runner program must call PluginTool.confine() first"
                )
            }
            let library: PluginLibrary
            do throws(LoadFault) {
                library = try PluginLibrary.load(message.library, sha256: message.sha256)
            } catch {
                throw PluginFault(.invalid, error.message)
            }
            let config: JSONValue = (try? JSONValue.parse(message.config)) ?? .object([])
            let instance = try await PluginInstance.create(
                name: message.name, library: library,
                config: CheckedConfig(json: config, secrets: message.secrets),
                program: message.program, version: message.programVersion, services: services)
            let peer = self.peer
            if !Confiner.lacks.isEmpty {
                let fields = [Attribute("error", Confiner.lacks.joined(separator: ", "))]
                peer.tell(.log) {
                    $0.put(
                        LogMessage(
                            level: .info, message: "the sandbox does without namespaces",
                            fields: fields))
                }
            }
            instance.whenCredentialReady { peer.tell(.credentialReady) }
            instance.whenEndpointsChange { peer.tell(.endpointsChanged) }
            self.state.withLock { state in
                state.instance = instance
                state.workers = workers
            }
            return LibraryFacts(library.descriptor)
        }
        peer.reply(to: frame) { $0.put(made) }
    }

    private func instance() throws(PluginFault) -> PluginInstance {
        guard let instance = state.withLock({ $0.instance }) else {
            throw PluginFault(.internal, "there is no instance")
        }
        return instance
    }

    private func roles(_ limits: Limits) async throws(PluginFault) -> RoleFacts {
        let roles = try await instance().roles(limits: limits)
        let peer = peer
        roles.send?.whenRoom { peer.tell(.room) }
        state.withLock { $0.roles = roles }
        var facts = RoleFacts()
        facts.paths = roles.ingest?.paths
        facts.filters = roles.filter != nil
        facts.builds = roles.build != nil
        facts.sendHTTP = roles.sendHTTP.map { .init(maxBatch: $0.maxBatch) }
        facts.send = roles.send.map { .init(maxBatch: $0.maxBatch) }
        facts.isSource = roles.source != nil
        facts.observe = roles.observe.map { .init(maxBatch: $0.maxBatch) }
        facts.register = roles.register.map { role in
            let kinds = DeviceChange.Kind.allCases.filter { role.wants($0) }
            return .init(
                maxBatch: role.maxBatch, kinds: kinds.reduce(0) { $0 | 1 << UInt64($1.rawValue) })
        }
        return facts
    }

    private func source() throws(PluginFault) -> any Sourcing {
        guard let source = state.withLock({ $0.roles.source }) else {
            throw PluginFault(.unsupported, "the plugin has no source role")
        }
        return source
    }

    /// Hands a batch to the gateway. Thread: the plugin's.
    private func emit(_ batch: SourceBatch) -> Bool {
        let number = state.withLock { state in
            state.batchNumber += 1
            state.batches[state.batchNumber] = batch.done
            return state.batchNumber
        }
        peer.channel.waitForRoom()
        let isSent = peer.send(
            .batch,
            BatchMessage(
                number: number, receivedUnixMs: batch.receivedUnixMs, events: batch.events))
        if !isSent { _ = state.withLock { $0.batches.removeValue(forKey: number) } }
        return isSent
    }

    private func translator(_ role: TranslatorRole) throws(PluginFault) -> any Translating {
        let roles = state.withLock { $0.roles }
        let found: (any Translating)? = role == .sendHTTP ? roles.sendHTTP : roles.register
        guard let found else { throw PluginFault(.unsupported, "the plugin has no such role") }
        return found
    }

    private static func result<Value: WireValue>(
        _ body: () async throws(PluginFault) -> Value
    ) async -> WireResult<Value> {
        do throws(PluginFault) {
            return WireResult(.success(try await body()))
        } catch {
            return WireResult(.failure(error))
        }
    }

    // MARK: Work

    private static let tooLong = PluginFault(
        .tooLarge, "the result is larger than a message may be")

    /// Thread: worker.
    private func work(_ method: WireMethod, _ frame: WireFrame) {
        do throws(WireFault) {
            switch method {
            case .prepare: prepare(try PrepareMessage(reading: frame), frame)
            case .classify: classify(try ClassifyMessage(reading: frame), frame)
            case .filter: filter(try FilterMessage(reading: frame), frame)
            case .build: build(try BuildMessage(reading: frame), frame)
            case .ingest: ingest(try IngestRequest(reading: frame), frame)
            case .observe: try observe(frame)
            case .submit: submit(try SubmitMessage(reading: frame), frame)
            case .credentialRefused:
                let name = try String(reading: frame)
                state.withLock { $0.instance }?.credentialRefused(name)
            case .fetchCredentials: state.withLock { $0.instance }?.fetchCredentials()
            default: throw WireFault("\(method) is not for a plugin")
            }
        } catch {
            Self.fail("the gateway sent a malformed message: \(error.what)")
        }
    }

    private func prepare(_ message: PrepareMessage, _ frame: WireFrame) {
        let result: PrepareResult
        do throws(PluginFault) {
            result = try translator(message.role).prepare(
                app: message.app, deliveries: message.batch.deliveries)
        } catch {
            result = .failed(error)
        }
        if peer.reply(to: frame, { $0.put(result) }) { return }
        peer.reply(to: frame) { $0.put(PrepareResult.failed(Self.tooLong)) }
    }

    private func classify(_ message: ClassifyMessage, _ frame: WireFrame) {
        let result: Result<ClassifiedMessage, PluginFault>
        do throws(PluginFault) {
            let (settled, requests) = try translator(message.role).classify(
                app: message.app, responses: message.responses)
            result = .success(ClassifiedMessage(settled: settled, requests: requests))
        } catch {
            result = .failure(error)
        }
        reply(result, frame)
    }

    private func filter(_ message: FilterMessage, _ frame: WireFrame) {
        let asked = message.asked
        let made = state.withLock { $0.roles.filter }?.filter(
            asked.event, recipients: asked.recipients, route: asked.route,
            options: JSONText(asked.options), nowUnixMs: message.nowUnixMs)
        reply(
            made ?? .failure(PluginFault(.unsupported, "the plugin has no filter role")), frame)
    }

    private func build(_ message: BuildMessage, _ frame: WireFrame) {
        let built = state.withLock { $0.roles.build }?.build(
            message.event, recipients: message.recipients, route: message.route,
            options: JSONText(message.options))
        reply(
            built ?? .failure(PluginFault(.unsupported, "the plugin has no build role")), frame)
    }

    private func observe(_ frame: WireFrame) throws(WireFault) {
        let batch = try [Observation](reading: frame)
        // Before any verdict.
        peer.reply(to: frame) { _ in }
        let peer = peer
        guard let role = state.withLock({ $0.roles.observe }) else {
            peer.answer(frame) { $0.put(ObserveVerdict.refused(reason: "unsupported")) }
            return
        }
        role.observe(batch) { verdict in peer.answer(frame) { $0.put(verdict) } }
    }

    private func submit(_ message: SubmitMessage, _ frame: WireFrame) {
        let peer = peer
        let flight = message.flight
        let taken = state.withLock { $0.roles.send }?.submit(
            app: message.app, deliveries: message.batch.deliveries
        ) { outcomes in
            peer.channel.waitForRoom()
            peer.tell(.outcomes) { $0.put(OutcomesMessage(flight: flight, outcomes: outcomes)) }
        }
        let result = taken ?? .failure(PluginFault(.unsupported, "the plugin has no send role"))
        reply(result.map { UInt64($0) }, frame)
    }

    private func reply<Value: WireValue>(
        _ result: Result<Value, PluginFault>, _ frame: WireFrame
    ) {
        if peer.reply(to: frame, { $0.put(WireResult(result)) }) { return }
        peer.reply(to: frame) { $0.put(WireResult<Value>(.failure(Self.tooLong))) }
    }

    private func ingest(_ request: IngestRequest, _ frame: WireFrame) {
        let peer = peer
        let box = ReplyBox()
        guard let role = state.withLock({ $0.roles.ingest as? IngestRole }) else {
            var result = IngestResult()
            result.fault = PluginFault(.unsupported, "the plugin has no ingest role")
            peer.reply(to: frame) { [result] in $0.put(IngestMessage.done(result)) }
            return
        }
        let open = role.begin(request) { result in
            var tooLong = IngestResult()
            tooLong.fault = Self.tooLong
            for attempt in [result, tooLong] {
                let isSent =
                    box.first { peer.reply(to: frame) { $0.put(IngestMessage.done(attempt)) } }
                    ?? peer.answer(frame) { $0.put(attempt) }
                if isSent { return }
            }
        }
        if let open {
            _ = box.first {
                peer.reply(to: frame) { $0.put(IngestMessage.deferred(timeoutMs: open)) }
            }
        }
    }
}

/// Makes the first of two results the reply, and the second the answer.
private final class ReplyBox: Sendable {
    private let isReplied = Mutex(false)

    /// Runs `body` under the lock, so that the reply is sent before any answer; nil if there is a reply
    /// already. A reply that could not be sent does not count.
    func first(_ body: () -> Bool) -> Bool? {
        isReplied.withLock { isReplied in
            guard !isReplied else { return nil }
            let isSent = body()
            isReplied = isSent
            return isSent
        }
    }
}
