import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxPluginHost
import SignalboxSimulators
import Testing

/// `isolation: process` and `sandbox`, from webhook to push.
@Suite struct IsolationTests {
    /// The content of pushes, without the parts that differ each time.
    static func words(_ pushes: [ReceivedPush]) -> [String] {
        pushes.map { push in
            let headers = push.headers.filter {
                !["apns-id", "apns-expiration", "authorization", "content-length"].contains($0.key)
            }
            let fields = headers.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
            let body = push.body.text.replacing(#/"ttl":"\d+s"/#, with: "")
            return "\(push.path) \(push.status) \(fields) \(body)"
        }.sorted()
    }

    @Test func `pushes are the same whether plugins run here or in processes of their own`()
        async throws
    {
        var found: [[String]] = []
        for isolation in ["none", "process", "sandbox"] {
            let rig =
                isolation == "none"
                ? try await GatewayRig()
                : try await GatewayRig(try Saboteur(isolation: isolation), plugins: [])
            for number in 0..<20 {
                let devices = (0..<5).flatMap {
                    [("ios", "i\(number)-\($0)"), ("android", "a\(number)-\($0)")]
                }
                let answer = try await rig.post(
                    GatewayRig.webhook(devices, ticket: "\(number)"))
                #expect(answer.status == 200)
            }
            #expect(await rig.delivered(rig.simulators.apns, 100).count == 100)
            #expect(await rig.delivered(rig.simulators.fcm, 100).count == 100)
            // Webhooks with faults get the same answers, too.
            let odd = try await rig.post("no JSON")
            let pushes = rig.simulators.apns.received + rig.simulators.fcm.received
            found.append(
                Self.words(pushes) + ["\(odd.status) \(String(decoding: odd.body, as: UTF8.self))"])
            #expect(await rig.gateway.stop() == 0)
            await rig.end()
        }
        #expect(found[0] == found[1])
        #expect(found[0] == found[2])
        #expect(found[0].count == 201)
    }

    @Test(arguments: [
        ("SEGV", "was ended by SIGSEGV (Segmentation fault)"),
        ("LOOP", "was ended by the gateway: prepare took over 3000 ms"),
    ])
    func `a sender that ends in the middle of a batch loses nothing and holds nobody`(
        how: String, words: String
    ) async throws {
        let saboteur = try Saboteur()
        let rig = try await GatewayRig(saboteur) { $0.workMs = how == "LOOP" ? 3_000 : 10_000 }
        try await rig.post(GatewayRig.webhook([("ios", "before")]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["before"])
        try saboteur.arm("prepare", how)
        let devices = (0..<30).flatMap { [("ios", "i\($0)"), ("android", "a\($0)")] }
        #expect(try await rig.post(GatewayRig.webhook(devices)).status == 200)
        // Its neighbour gets all pushes, whatever happens to this one.
        #expect(await rig.delivered(rig.simulators.fcm, 30).count == 30)
        let ios = await rig.delivered(rig.simulators.apns, 31)
        #expect(Set(ios) == Set(["before"] + (0..<30).map { "i\($0)" }))
        #expect(ios.count == 31)
        #expect(try await rig.metric(#"signalbox_plugin_restarts_total{instance="apns"}"#) == 1)
        #expect(try await rig.metric(#"signalbox_plugin_up{instance="apns"}"#) == 1)
        #expect(try await rig.metric(#"signalbox_plugin_restarts_total{instance="fcm"}"#) == 0)
        let lines = rig.log.all.filter { $0.hasPrefix("error the plugin's process") }
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.hasPrefix("error the plugin's process \(words)") == true, "\(lines)")
        #expect(!rig.log.all.contains { $0.contains("secret-body") })
        await rig.end()
    }

    @Test func `readiness names a plugin whose process is not there`() async throws {
        let saboteur = try Saboteur()
        let rig = try await GatewayRig(saboteur) {
            ($0.waitFirstMs, $0.waitMaxMs) = (600_000, 600_000)
        }
        let before = try await rig.json("/readyz")
        #expect(before["status"]?.string == "ready" && before["plugins"]?[0] == nil)
        try saboteur.arm("prepare", "EXIT")
        try await rig.post(GatewayRig.webhook([("ios", "i1")]))
        var ready = before
        // Before that, for a moment, it is being started.
        let start = "its process has ended, and another one is started in "
        while ready["plugins"]?[0]?["reason"]?.string?.hasPrefix(start) != true {
            ready = try await rig.json("/readyz")
        }
        #expect(ready["status"]?.string == "degraded", "\(ready.text)")
        #expect(ready["plugins"]?[0]?["plugin"]?.string == "apns")
        await rig.end()
    }

    @Test func `one that ends when it is asked for its endpoint does not keep the gateway down`()
        async throws
    {
        let saboteur = try Saboteur()
        try saboteur.arm("endpoint", "EXIT")
        let rig = try await GatewayRig(saboteur) { ($0.waitFirstMs, $0.waitMaxMs) = (10, 10) }
        #expect(saboteur.hasStruck("endpoint"))
        try await rig.post(GatewayRig.webhook([("ios", "i1"), ("android", "a1")]))
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["a1"])
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["i1"])
        await rig.end()
    }

    @Test func `readiness says why a plugin's process cannot be started again`() async throws {
        let saboteur = try Saboteur()
        let libraries = try await saboteur.libraries(["Zendesk", "APNs"])
        let rig = try await GatewayRig(
            change: { ($0.isolation.waitFirstMs, $0.isolation.waitMaxMs) = (10, 10) },
            config: { saboteur.plugins($0, libraries) + "\n" + GatewayRig.routes })
        let library = try #require(libraries["APNs"])
        try FileManager.default.moveItem(atPath: library, toPath: library + ".away")
        try saboteur.arm("prepare", "EXIT")
        try await rig.post(GatewayRig.webhook([("ios", "i1")]))
        var reason = ""
        while !reason.hasPrefix("it cannot be started again (") {
            let ready = try await rig.json("/readyz")
            reason = ready["plugins"]?[0]?["reason"]?.string ?? ""
        }
        #expect(reason.contains(library), "\(reason)")
        try FileManager.default.moveItem(atPath: library + ".away", toPath: library)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["i1"])
        await rig.end()
    }

    @Test func `a delivery that always ends the process becomes a dead letter, and no other does`()
        async throws
    {
        let rig = try await GatewayRig(try Saboteur())
        let devices = (0..<20).map { ("ios", $0 == 11 ? "poison" : "i\($0)") }
        #expect(try await rig.post(GatewayRig.webhook(devices)).status == 200)
        let ios = await rig.delivered(rig.simulators.apns, 19)
        #expect(Set(ios) == Set(devices.map(\.1)).subtracting(["poison"]))
        #expect(ios.count == 19)
        var dead: [JSONValue] = []
        while dead.isEmpty {
            let list = try await rig.json("/dead")
            if case .array(let letters) = list["dead"] { dead = letters }
        }
        #expect(dead.map { $0["reason"]?.string } == ["plugin_crashes"])
        await rig.end()
    }

    @Test(arguments: ["ingest", "build"])
    func `a webhook whose plugin ends is answered 503, comes again, and is sent once`(
        place: String
    ) async throws {
        let saboteur = try Saboteur()
        let rig = try await GatewayRig(saboteur)
        try saboteur.arm(place, "ABRT")
        let body = GatewayRig.webhook([("ios", "i"), ("android", "a")])
        let statuses = try await rig.insist(body)
        #expect(statuses.count > 1)
        #expect(statuses.dropLast().allSatisfy { $0 == 503 } && statuses.last == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["i"])
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["a"])
        #expect(await rig.gateway.stop() == 0)
        #expect(rig.simulators.apns.received.count == 1)
        #expect(!rig.log.all.contains { $0.contains("build_failed") })
        await rig.end()
    }

    @Test func `a gateway under load whose plugins end again and again loses nothing`()
        async throws
    {
        let saboteur = try Saboteur()
        let rig = try await GatewayRig(saboteur, plugins: ["Zendesk", "APNs", "FCM"]) {
            // Crashes happen more often here than in any healthy minute.
            $0.waitFirstMs = 1
            $0.waitMaxMs = 20
        }
        var promised: Set<String> = []
        for round in 0..<40 {
            let place = ["prepare", "ingest", "classify", "build", ""][round % 5]
            if !place.isEmpty { try saboteur.arm(place, round % 2 == 0 ? "SEGV" : "EXIT") }
            let devices = (0..<10).flatMap {
                [("ios", "i\(round)-\($0)"), ("android", "a\(round)-\($0)")]
            }
            #expect(try await rig.insist(GatewayRig.webhook(devices)).last == 200)
            promised.formUnion(devices.map(\.1))
        }
        for place in ["prepare", "ingest", "classify", "build"] {
            try? FileManager.default.removeItem(at: saboteur.folder.appending(path: place))
        }
        // One whose answer was lost twice comes twice, so they cannot be counted.
        var missing = promised
        let patience = ContinuousClock.now + .seconds(100)
        while !missing.isEmpty, ContinuousClock.now < patience {
            for simulator in [rig.simulators.apns, rig.simulators.fcm] {
                missing.subtract(await rig.delivered(simulator, 400))
            }
        }
        #expect(missing.isEmpty)
        #expect(await rig.gateway.stop() == 0)
        await rig.end()
    }

    // MARK: Configuration

    @Test(arguments: ["entry", "create"])
    func `a plugin that ends its process at the start is a fault of the configuration`(
        place: String
    ) async throws {
        let saboteur = try Saboteur()
        let simulators = try await Simulators.start()
        let text = try await saboteur.plugins(simulators, ["APNs"]) + "\n" + GatewayRig.routes
        let file = try ProgramTests.temporary("gateway.yaml", text)
        try saboteur.arm(place, "SEGV")
        for command in ["check", "run"] {
            let ended = try await ProgramTests.run([command, "--config", file])
            #expect(ended.status == 78, "\(ended.text)")
            #expect(ended.text.contains(": plugin-crashes: plugin \"apns\""), "\(ended.text)")
            #expect(ended.text.contains("Segmentation fault"), "\(ended.text)")
            #expect(ended.text.contains("1 fault"))
            try saboteur.arm(place, "SEGV")
        }
        try FileManager.default.removeItem(at: saboteur.folder.appending(path: place))
        let fine = try await ProgramTests.run(["check", "--config", file])
        #expect(fine.status == 0, "\(fine.text)")
        await simulators.shutdown()
    }

    @Test func `a program without a runner says so`() async throws {
        let simulators = try await Simulators.start()
        let text = try await Saboteur().plugins(simulators, []) + "\n" + GatewayRig.routes
        var options = GatewayOptions(
            configPath: try ProgramTests.temporary("gateway.yaml", text))
        options.addPluginFolders([try GatewayRig.pluginFolder()])
        let fault = await #expect(throws: ConfigurationError.self) {
            try await Gateway.check(options)
        }
        #expect(Set(fault?.diagnostics.map(\.code) ?? []) == ["plugin-no-runner"])
        await simulators.shutdown()
    }

    // MARK: Processes

    @Test(arguments: [false, true])
    func `a gateway that is killed takes its plugins with it`(isHanging: Bool) async throws {
        let saboteur = try Saboteur()
        let simulators = try await Simulators.start()
        let text = try await saboteur.plugins(simulators) + "\n" + GatewayRig.routes
        let file = try ProgramTests.temporary("gateway.yaml", text)
        let (process, pipe, log) = try await ProgramTests.serve(file)
        let children = Self.children(of: process.processIdentifier)
        #expect(children.count == 3)
        if isHanging {
            try saboteur.arm("prepare", "LOOP")
            let port = try #require(log.firstMatch(of: /listen\.port=(\d+)/)?.output.1)
            let client = try RESTClient()
            #expect(try await client.post([("ios", "i")], to: port).status == 200)
            while !saboteur.hasStruck("prepare") { await Task.yield() }
            client.shutdown()
        }
        kill(process.processIdentifier, SIGKILL)
        // Every process that can write to the pipe must have closed it before this returns,
        // and each child could.
        _ = try await Tool.rest(pipe)
        try await Tool.end(process)
        // A process closes its files a moment before it is gone.
        let patience = ContinuousClock.now + .seconds(60)
        for child in children {
            while Self.isAlive(child), ContinuousClock.now < patience { await Task.yield() }
            #expect(!Self.isAlive(child))
        }
        await simulators.shutdown()
    }

    @Test func `a plugin's process has nothing of the gateway's`() async throws {
        let simulators = try await Simulators.start()
        let text = try await Saboteur().plugins(simulators, []) + "\n" + GatewayRig.routes
        let file = try ProgramTests.temporary("gateway.yaml", text)
        let (process, pipe, _) = try await ProgramTests.serve(
            file, environment: ["MY_SECRET": "hunter2", "TZ": "Asia/Tokyo"])
        for child in Self.children(of: process.processIdentifier) {
            // It belongs to root; SandboxTests try from within what others cannot see.
            guard geteuid() == 0 else {
                #expect(throws: (any Error).self) {
                    try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/fd")
                }
                continue
            }
            let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(child)/fd")
            let targets = open.compactMap { number -> String? in
                let path = "/proc/\(child)/fd/\(number)"
                return (try? FileManager.default.destinationOfSymbolicLink(atPath: path)).map {
                    "\(number) \($0)"
                }
            }
            // Its socket, its standard error and what its own threads wait on; no listener, no database, no key.
            #expect(targets.contains("0 /dev/null") && targets.contains("1 /dev/null"))
            #expect(targets.count { $0.contains("socket:") } == 2, "\(targets)")
            #expect(!targets.contains { $0.contains("sqlite") || $0.contains(".p8") })
            let environment = try String(
                contentsOf: URL(filePath: "/proc/\(child)/environ"), encoding: .utf8)
            #expect(!environment.contains("hunter2"))
            #expect(environment.contains("TZ=Asia/Tokyo"))
            let command = try String(
                contentsOf: URL(filePath: "/proc/\(child)/cmdline"), encoding: .utf8)
            #expect(command.split(separator: "\0").suffix(3).first == "plugins")
        }
        process.terminate()
        _ = try await Tool.rest(pipe)
        #expect(try await Tool.end(process) == 0)
        await simulators.shutdown()
    }

    static func children(of process: Int32) -> [Int32] {
        let tasks =
            (try? FileManager.default.contentsOfDirectory(
                atPath: "/proc/\(process)/task")) ?? []
        return tasks.flatMap { task -> [Int32] in
            let file = "/proc/\(process)/task/\(task)/children"
            let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
            return text.split(separator: " ").compactMap { Int32($0) }
        }
    }

    /// Whether the process runs and is not a zombie.
    static func isAlive(_ process: Int32) -> Bool {
        guard let status = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        else { return false }
        let state = status.split(separator: ")").last?.split(separator: " ").first
        return state != "Z" && state != "X"
    }

    @Test func `a hundred crashes leave no descriptor, no thread and no process behind`() async {
        await #expect(processExitsWith: .success) {
            let services = RigServices()
            let library = try await PluginRig.compileFixture("Isolation/everything.c")
            let instance = try await PluginRig.isolated(library, services: services) { options in
                options.waitFirstMs = 0
                options.waitMaxMs = 0
            }
            let roles = try await instance.roles(limits: Limits())
            let role = try #require(roles.ingest)
            func crash(_ number: Int) async {
                let once = Once<Bool>()
                // The same one would be found out.
                var request = IngestRequest(
                    method: "POST", path: "/", pattern: "/", body: Array("ABRT \(number)".utf8),
                    receivedUnixMs: 1)
                request.params = [Attribute("thing", "x")]
                // The new process may be up before the answer arrives.
                let before = services.counts["restarts_total"] ?? 0
                role.handle(request) { once.set($0.fault?.kind == .again) }
                _ = await once.value()
                await services.waitFor {
                    (services.counts["restarts_total"] ?? 0) > before
                        && services.counts["up"] == 1
                }
            }
            /// Descriptors, threads and children of this process.
            func possessions() -> [Int] {
                let own = "/proc/self"
                let files = FileManager.default
                return [
                    (try? files.contentsOfDirectory(atPath: "\(own)/fd"))?.count ?? 0,
                    (try? files.contentsOfDirectory(atPath: "\(own)/task"))?.count ?? 0,
                    IsolationTests.children(of: getpid()).count,
                ]
            }
            for number in 0..<5 { await crash(number) }
            let before = possessions()
            for number in 5..<105 { await crash(number) }
            // A thread takes a moment to disappear after it has ended.
            await services.waitFor { zip(possessions(), before).allSatisfy { $0 <= $1 } }
            let after = possessions()
            let isGone = await instance.stop(deadlineMs: 5_000)
            await services.waitFor { IsolationTests.children(of: getpid()).isEmpty }
            let restarts = services.counts["restarts_total"] ?? 0
            print("before \(before), after \(after), restarts \(restarts)")
            let isClean =
                zip(after, before).allSatisfy { $0 <= $1 } && isGone && restarts == 105
                && IsolationTests.children(of: getpid()).isEmpty
            exit(isClean ? 0 : 1)
        }
    }
}
