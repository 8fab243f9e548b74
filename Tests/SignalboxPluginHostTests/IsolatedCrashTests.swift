import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// Processes that end unexpectedly.
@Suite struct IsolatedCrashTests {
    typealias Roles = IsolatedRoleTests

    /// An isolated instance of a plugin that ends on demand.
    struct Crashing {
        let instance: IsolatedInstance
        let roles: PluginRoles
        let services: RigServices
        let ups: AsyncStream<Void>
        let marker: URL

        init(
            once: Bool = false, config: String = "", services: RigServices = RigServices(),
            change: @escaping (inout IsolationOptions) -> Void = { _ in }
        ) async throws {
            self.services = services
            marker = Workshop.place()
            let json = (once ? #""marker":"\#(marker.path)""# : "") + config
            instance = try await PluginRig.isolated(
                try await Roles.library.value, config: try JSONValue.parse("{\(json)}"),
                services: services
            ) { options in
                options.waitFirstMs = 1
                options.waitMaxMs = 5
                options.patienceMs = 60_000
                change(&options)
            }
            roles = try await instance.roles(limits: Limits())
            // Notified when a credential is available, and when the process is up.
            let (ups, up) = AsyncStream<Void>.makeStream()
            self.ups = ups
            instance.whenCredentialReady { up.yield() }
        }

        /// Offers deliveries until the plugin reacts to them.
        func prepare(_ deliveries: [Delivery]) async throws -> PrepareResult {
            let role = try #require(roles.sendHTTP)
            var turns = ups.makeAsyncIterator()
            while true {
                let result = role.prepare(app: "a", deliveries: deliveries)
                guard case .again = result else { return result }
                await turns.next()
            }
        }

        /// Prepares like a lane: in batches of the requested size, until all are settled.
        func deliverAll(_ deliveries: [Delivery]) async throws -> [UInt64: String] {
            let role = try #require(roles.sendHTTP)
            var left = deliveries
            var found: [UInt64: String] = [:]
            while !left.isEmpty {
                let batch = Array(left.prefix(role.maxBatch ?? left.count))
                switch try await prepare(batch) {
                case .ready(let requests, let settled):
                    for item in requests.items { found[item] = "sent" }
                    for outcome in settled { found[outcome.item] = outcome.reason }
                    left.removeFirst(batch.count)
                case .failed:
                    left.removeFirst(batch.count)
                    left += batch.map {
                        var next = $0
                        next.attempt += 1
                        return next
                    }
                case .again: break
                }
            }
            return found
        }

        var restarts: Int64 { services.counts["restarts_total"] ?? 0 }

        func end() async { #expect(await instance.stop(deadlineMs: 5_000)) }
    }

    @Test(arguments: [
        ("SEGV", "was ended by SIGSEGV (Segmentation fault)"),
        ("ABRT", "was ended by SIGABRT (Aborted)"), ("EXIT", "ended itself (exit 0)"),
        ("LOOP", "was ended by the gateway: prepare took over 3000 ms"),
    ])
    func `a batch is lost once, and everything is sent`(how: String, words: String) async throws {
        let rig = try await Crashing(once: true) { if how == "LOOP" { $0.workMs = 3_000 } }
        let tokens = (0..<20).map { $0 == 7 ? "x-\(how)" : "t-\($0)" }
        let found = try await rig.deliverAll(Roles.deliveries(tokens))
        #expect(found.values.allSatisfy { $0 == "sent" } && found.count == 20)
        #expect(rig.restarts == 1)
        #expect(rig.services.counts["up"] == 1)
        let lines = rig.services.lines.filter { $0.contains("the plugin's process") }
        #expect(lines.count == 1)
        #expect(lines.first?.contains("error the plugin's process \(words)") == true, "\(lines)")
        let late = "test: prepare took over 3000 ms, so its process was ended"
        #expect(rig.services.faults == (how == "LOOP" ? [late] : []))
        await rig.end()
        #expect(rig.services.counts["up"] == 0)
    }

    /// Its child has the other end of the wire.
    @Test func `one that leaves another process behind is ended with it`() async throws {
        let rig = try await Crashing(once: true)
        let found = try await rig.deliverAll(Roles.deliveries(["t-1", "x-FORK", "t-2"]))
        #expect(found.values.allSatisfy { $0 == "sent" } && found.count == 3)
        #expect(rig.restarts == 1 && rig.services.faults.isEmpty)
        let lines = rig.services.lines.filter { $0.contains("the plugin's process") }
        #expect(lines.count == 1)
        #expect(
            lines.first?.contains("error the plugin's process was ended by SIGABRT") == true,
            "\(lines)")
        let child = try #require(Int32(String(contentsOf: rig.marker, encoding: .utf8)))
        let patience = ContinuousClock.now + .seconds(30)
        func isAlive() -> Bool {
            let status = try? String(contentsOfFile: "/proc/\(child)/stat", encoding: .utf8)
            return status.map { !$0.contains(") Z ") } ?? false
        }
        while isAlive(), ContinuousClock.now < patience { await Task.yield() }
        #expect(!isAlive())
        await rig.end()
    }

    @Test func `one that always ends the process is found out, and its neighbours are sent`()
        async throws
    {
        let rig = try await Crashing()
        let tokens = (0..<12).map { [3, 8].contains($0) ? "x-SEGV" : "t-\($0)" }
        let found = try await rig.deliverAll(Roles.deliveries(tokens))
        let crashed = found.filter { $0.value == "plugin_crashes" }.keys.sorted()
        #expect(crashed == [4, 9])
        #expect(found.values.count { $0 == "sent" } == 10)
        // Once together, and each twice alone.
        #expect(rig.restarts <= 5)
        #expect(rig.roles.sendHTTP?.maxBatch == 600)
        await rig.end()
    }

    @Test func `a request that ends the process, and what is asked while it is down`() async throws
    {
        let rig = try await Crashing {
            $0.waitFirstMs = 60_000; $0.waitMaxMs = 60_000
        }
        let ingest = try #require(rig.roles.ingest)
        let builder = try #require(rig.roles.build)
        let deferred = Once<IngestResult>()
        ingest.handle(Roles.request("defer briefly")) { deferred.set($0) }
        let lost = Once<IngestResult>()
        ingest.handle(Roles.request("ABRT")) { lost.set($0) }
        #expect(await lost.value()?.fault?.kind == .again)
        let open = await deferred.value()?.fault?.kind
        #expect(open == .again || open == .timeout)
        // Down from here on.
        let down = Once<IngestResult>()
        ingest.handle(Roles.request("plain")) { down.set($0) }
        #expect(await down.value()?.fault?.kind == .again)
        let event = Event(type: "x.y")
        let built = builder.build(event, recipients: [], route: "r", options: "{}")
        #expect(throws: PluginFault(.again, "the plugin \"test\" is being started again")) {
            try built.get()
        }
        let deliveries = Roles.deliveries(["a"])
        guard case .again? = rig.roles.sendHTTP?.prepare(app: "", deliveries: deliveries) else {
            throw PluginRig.Failure(description: "it was not down")
        }
        let taken = rig.roles.send?.submit(app: "", deliveries: deliveries) { _ in }
        #expect(try taken?.get() == 0)
        await rig.services.waitFor { rig.services.counts["up"] == 0 }
        // A stop does not wait for the restart.
        await rig.end()
    }

    @Test func `an event that ends the process is lost to nobody`() async throws {
        let rig = try await Crashing(once: true)
        let builder = try #require(rig.roles.build)
        let recipient = [Recipient(device: Device(token: "t"))]
        let event = Event(source: "z", type: "x.y", subject: "SEGV")
        let built = builder.build(event, recipients: recipient, route: "r", options: "{}")
        guard case .failure(let fault) = built else {
            throw PluginRig.Failure(description: "it did not end")
        }
        #expect(fault.kind == .again)
        var turns = rig.ups.makeAsyncIterator()
        while case .failure = builder.build(
            event, recipients: recipient, route: "r", options: "{}")
        {
            await turns.next()
        }
        #expect(rig.restarts == 1)
        await rig.end()
    }

    @Test func `an event that ends the process each time fails alone, and the others go on`()
        async throws
    {
        let rig = try await Crashing()
        let builder = try #require(rig.roles.build)
        let recipient = [Recipient(device: Device(token: "t"))]
        var turns = rig.ups.makeAsyncIterator()
        var id: UInt64 = 0
        func build(_ subject: String) -> PluginFault? {
            id += 1
            // Its source sends it again with another id.
            let event = Event(id: id, source: "z", type: "x.y", subject: subject)
            switch builder.build(event, recipients: recipient, route: "r", options: "{}") {
            case .success: return nil
            case .failure(let fault): return fault
            }
        }
        var fault = build("SEGV")
        while fault?.kind == .again {
            await turns.next()
            fault = build("SEGV")
        }
        #expect(fault?.kind == .lost && fault?.message.contains("each time") == true)
        while build("fine") != nil { await turns.next() }
        let restarts = rig.restarts
        #expect(restarts == 2)
        for _ in 0..<5 {
            #expect(build("SEGV")?.kind == .lost)
            #expect(build("fine") == nil)
        }
        #expect(rig.restarts == restarts)
        await rig.end()
    }

    @Test func `an exception that leaves a plugin ends its process alone`() async throws {
        let file = PluginRig.root.appending(path: "Tests/Fixtures/Isolation/throwing.cpp")
        let library = FileManager.default.temporaryDirectory.appending(
            path: "\(UUID().uuidString).so")
        defer { try? FileManager.default.removeItem(at: library) }
        let services = RigServices()
        let instance = try await PluginRig.isolated(
            try await PluginRig.compile(
                file: file.path, to: library.path, flags: ["-fvisibility=hidden", "-lstdc++"]),
            services: services
        ) { options in
            options.waitFirstMs = 1
            options.waitMaxMs = 5
        }
        let builder = try #require(try await instance.roles(limits: Limits()).build)
        let recipient = [Recipient(device: Device(token: "t"))]
        func build(_ subject: String) -> Result<BuildResult, PluginFault> {
            let event = Event(source: "z", type: "x.y", subject: subject)
            return builder.build(event, recipients: recipient, route: "r", options: "{}")
        }
        guard case .success = build("fine"), case .failure(let fault) = build("throw") else {
            throw PluginRig.Failure(description: "no exception came")
        }
        #expect(fault.kind == .again)
        // The next call finds the plugin running again.
        while case .failure = build("fine") { await Task.yield() }
        #expect(services.counts["restarts_total"] == 1)
        let line = services.lines.first { $0.contains("the plugin's process") }
        #expect(line?.contains("SIGABRT") == true, "\(services.lines)")
        // Its runtime's last words are the plugin's own, and the fault repeats nothing of them.
        let told = services.lines.filter { $0.contains("not for a host's eyes") }
        #expect(told.allSatisfy { $0.contains("stream=stderr") }, "\(told)")
        #expect(!fault.message.contains("eyes"))
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `answers are read again after a crash, and not asked for again`() async throws {
        let rig = try await Crashing(once: true)
        let role = try #require(rig.roles.sendHTTP)
        let responses = (1...9).map {
            HTTPResponse(
                status: 200, body: Array(($0 == 4 ? "SEGV" : "fine").utf8), items: [UInt64($0)])
        }
        let (settled, _) = role.classify(app: "a", responses: responses)
        #expect(settled.map(\.item).sorted() == Array(1...9))
        #expect(settled.allSatisfy { $0.kind == .delivered })
        #expect(rig.restarts == 1)
        await rig.end()
    }

    @Test func `an answer that always ends the process costs itself alone`() async throws {
        let rig = try await Crashing()
        let role = try #require(rig.roles.sendHTTP)
        _ = try await role.endpoint(app: "once")
        func classify(_ app: String) -> [UInt64: Outcome] {
            let (settled, _) = role.classify(
                app: app,
                responses: (1...9).map {
                    HTTPResponse(
                        status: 200, body: Array(($0 == 4 ? "ABRT" : "fine").utf8),
                        items: [UInt64($0)])
                })
            return Dictionary(uniqueKeysWithValues: settled.map { ($0.item, $0) })
        }
        let first = classify("a")
        #expect(first.count == 9 && first.values.count { $0.kind == .delivered } == 8)
        #expect(first[4]?.kind == .retry && first[4]?.reason == "plugin_failed")
        // If nothing may be sent twice, an unreadable answer is no reason for a retry.
        let atMostOnce = classify("once")
        #expect(atMostOnce[4]?.kind == .rejected)
        await rig.end()
    }

    @Test func `deliveries that a transport had are given back, and its cause found out`()
        async throws
    {
        let rig = try await Crashing()
        let role = try #require(rig.roles.send)
        let outcomes = Mutex<[UInt64: Outcome]>([:])
        let all = Roles.deliveries((0..<8).map { $0 == 2 ? "x-ABRT" : "t-\($0)" })
        var left = all
        let rooms = AsyncStream<Void>.makeStream()
        role.whenRoom { rooms.continuation.yield() }
        rig.instance.whenCredentialReady { rooms.continuation.yield() }
        var turns = rooms.stream.makeAsyncIterator()
        var done: [UInt64: String] = [:]
        while done.count < 8 {
            if !left.isEmpty {
                let taken = try role.submit(
                    app: "a", deliveries: Array(left.prefix(role.maxBatch ?? 8))
                ) { new in
                    outcomes.withLock { all in for one in new { all[one.item] = one } }
                    rooms.continuation.yield()
                }.get()
                left.removeFirst(taken)
            }
            await turns.next()
            let new = outcomes.withLock { all in
                defer { all = [:] }
                return all
            }
            for (item, outcome) in new {
                if outcome.kind == .retry {
                    left.append(all[Int(item) - 1])
                } else {
                    done[item] = outcome.reason
                }
            }
        }
        #expect(done[3] == "plugin_crashes")
        #expect(done.values.count { $0 == "carried" } == 7)
        await rig.end()
    }

    @Test(.timeLimit(.minutes(1)))
    func `an outcome that a transport forgets holds up no other delivery after a crash`()
        async throws
    {
        let rig = try await Crashing(once: true) { $0.trialMs = 20 }
        let role = try #require(rig.roles.send)
        let rooms = AsyncStream<Void>.makeStream()
        role.whenRoom { rooms.continuation.yield() }
        rig.instance.whenCredentialReady { rooms.continuation.yield() }
        var turns = rooms.stream.makeAsyncIterator()
        let carried = Mutex<Set<UInt64>>([])
        let all = Roles.deliveries(["x-ABRT", "forget-1", "forget-2", "t-1", "t-2"])
        func submit(_ deliveries: some Collection<Delivery>) throws -> Int {
            try role.submit(app: "a", deliveries: Array(deliveries)) { new in
                carried.withLock { $0.formUnion(new.filter { $0.kind == .delivered }.map(\.item)) }
                rooms.continuation.yield()
            }.get()
        }
        #expect(try submit(all.prefix(1)) == 1)
        var left = all.dropFirst()
        while carried.withLock({ $0.count }) < 2 {
            await turns.next()
            left = try left.dropFirst(submit(left))
        }
        #expect(carried.withLock { $0 } == [4, 5])
        await rig.end()
    }

    @Test(arguments: ["create", "start"])
    func `a first start that ends the process is a fault with a reason`(place: String) async throws
    {
        let services = RigServices()
        let fault = await #expect(throws: PluginFault.self) {
            _ = try await Crashing(config: #""\#(place)":"SEGV""#, services: services)
        }
        #expect(fault?.kind == .lost)
        #expect(
            fault?.message
                == "in \(place)() its process was ended by SIGSEGV (Segmentation fault)")
        let refused = await #expect(throws: PluginFault.self) {
            _ = try await Crashing(config: #""create":"refuse""#, services: services)
        }
        #expect(refused?.kind == .invalid && refused?.message == "not this config")
    }

    @Test func `a library that ends the process when it is loaded is a fault`() async throws {
        let source = """
            #include <stdlib.h>
            const void *sbx_plugin_entry_v1(void *h, void *e);
            const void *sbx_plugin_entry_v1(void *h, void *e) { (void)h; (void)e; abort(); }
            """
        var options = IsolationOptions()
        options.runner = try PluginRig.runner()
        let library = try await PluginRig.compile(source)
        let fault = #expect(throws: LoadFault.self) {
            try IsolatedLibrary.inspect(library, options: options)
        }
        #expect(fault?.code == "plugin-crashes")
        options.runner = []
        let none = #expect(throws: LoadFault.self) {
            try IsolatedLibrary.inspect(library, options: options)
        }
        #expect(none?.code == "plugin-no-runner")
    }

    @Test func `one that hangs in its end is ended in time`() async throws {
        let rig = try await Crashing(config: #""stop":"LOOP""#)
        #expect(await rig.instance.stop(deadlineMs: 100))
        #expect(rig.services.faults == ["test: did not stop in time, so its process was ended"])
    }

    @Test func `after a stop nothing is asked`() async throws {
        let rig = try await Crashing()
        await rig.end()
        let prepared = rig.roles.sendHTTP?.prepare(app: "", deliveries: Roles.deliveries(["a"]))
        guard case .failed(let fault)? = prepared else {
            throw PluginRig.Failure(description: "it was asked")
        }
        #expect(fault.kind == .stopping)
        #expect(await rig.instance.stop(deadlineMs: 100))
    }
}
