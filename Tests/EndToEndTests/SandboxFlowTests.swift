import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxSimulators
import Testing

/// `isolation: sandbox`, from event to push.
@Suite(.timeLimit(.minutes(10))) struct SandboxFlowTests {
    static let bearer = ("authorization", "Bearer token-of-the-shop")

    /// A plugin in Rust takes events, one in Swift and one in C send them.
    static func config(_ simulators: Simulators, hello: String) -> String {
        """
        version: 1
        gateway: { listen: "127.0.0.1:0", admin: "127.0.0.1:0", drain: 5s }
        plugins:
          shop:
            library: CloudEvents
            isolation: sandbox
            config:
              path: /in/shop
              bearer: [token-of-the-shop]
              recipients: [{ each: /devices, token: /token, platform: /platform }]
          apns:
            library: APNs
            isolation: sandbox
            config:
              team_id: SIMTEAM001
              key_id: SIMKEY0001
              key: "${file:\(simulators.files.apnsKey)}"
              topic: com.example.app
              endpoint: "\(simulators.apns.origin)"
              ca: "\(simulators.files.ca)"
              token_check: lenient
          hello:
            library: \(hello)
            isolation: sandbox
            config: { endpoint: "\(simulators.provider.origin)" }
        routes:
          - name: orders
            from: shop
            build: { options: { body: /text } }
            send: { ios: apns, web: hello }
        """
    }

    /// HelloC, which also names the simulators' root.
    static func build(_ hello: String, _ simulators: Simulators) async throws {
        let source = try String(
            contentsOf: PluginRig.root.appending(path: "Plugins/HelloC/hello.c"), encoding: .utf8)
        let changed = source.replacingOccurrences(
            of: "e->origin = i->origin;",
            with: """
                e->origin = i->origin;
                  e->ca_file = STR("\(simulators.files.ca)");
                """)
        let file = try ProgramTests.temporary("hello.c", changed)
        _ = try await PluginRig.compile(file: file, to: hello)
    }

    /// Simulators, and a file with the configuration.
    static func simulated() async throws -> (simulators: Simulators, yaml: String) {
        try await RustRig.plugins()
        let simulators = try await Simulators.start()
        let hello = try Workshop.folder().appending(path: "libHello.so").path
        try await build(hello, simulators)
        return (simulators, config(simulators, hello: hello))
    }

    @Test func `plugins in Swift, Rust and C deliver from their sandboxes`() async throws {
        try await RustRig.plugins()
        let hello = try Workshop.folder().appending(path: "libHello.so").path
        let rig = try await GatewayRig(
            config: { Self.config($0, hello: hello) },
            prepare: { simulators, _ in try await Self.build(hello, simulators) })
        for number in 0..<20 {
            try await Self.post(
                rig, "\(number)",
                #"{"token":"i\#(number)","platform":"ios"},{"token":"w\#(number)","platform":"web"}"#
            )
        }
        let apple = await rig.simulators.apns.wait(for: 20, timeoutMs: 120_000)
        #expect(Set(apple.map(\.token)) == Set((0..<20).map { "i\($0)" }))
        let hellos = await rig.simulators.provider.wait(for: 20, timeoutMs: 120_000)
        #expect(hellos.count == 20 && hellos.allSatisfy { $0.path == "/hello" })
        #expect(!rig.log.all.contains { $0.hasPrefix("error") || $0.hasPrefix("warning") })
        await rig.end()
    }

    static func post(_ rig: GatewayRig, _ id: String, _ devices: String) async throws {
        let event = """
            {"specversion":"1.0","id":"\(id)","source":"/shop","type":"order.sent",
             "data":{"text":"On its way","devices":[\(devices)]}}
            """
        let answer = try await rig.post(
            event, path: "/in/shop",
            headers: [bearer, ("content-type", "application/cloudevents+json")])
        #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
    }

    @Test func `a plugin with connections of its own reaches nobody, and everybody says why`()
        async throws
    {
        try await RustRig.plugins()
        let hello = try Workshop.folder().appending(path: "libHello.so").path
        let rig = try await GatewayRig(
            config: { simulators in
                Self.config(simulators, hello: hello)
                    .replacing("web: hello }", with: "web: hello, email: mail }")
                    .replacing(
                        "routes:",
                        with: """
                              mail:
                                library: SMTP
                                isolation: sandbox
                                config: { host: 127.0.0.1, from: box@example.com }
                            routes:
                            """)
            },
            prepare: { simulators, _ in try await Self.build(hello, simulators) })
        let warning = rig.log.all.first { $0.contains("sandbox-has-no-sockets") }
        #expect(
            warning?.contains("plugin \"mail\" seems to have connections of its own") == true,
            "\(rig.log.all)")
        try await Self.post(rig, "1", #"{"token":"ann@example.com","platform":"email"}"#)
        let patience = ContinuousClock.now + .seconds(60)
        func isSaid() -> Bool {
            rig.log.all.contains {
                $0.contains("forbidden by the system, or by isolation: sandbox")
            }
        }
        while !isSaid(), ContinuousClock.now < patience { await Task.yield() }
        #expect(isSaid(), "\(rig.log.all)")
        await rig.end()
    }

    // MARK: Kernels that lack something

    /// Compiled once.
    static let without = Task.detached {
        let program = try Workshop.folder().appending(path: "without").path
        try await Tool.output([
            "cc", "-o", program,
            PluginRig.root.appending(path: "Tests/Fixtures/Isolation/without.c").path,
        ])
        return program
    }

    @Test(arguments: [("landlock", "Landlock"), ("seccomp", "seccomp")])
    func `without what a sandbox needs nothing starts, and check says why`(
        missing: String, name: String
    ) async throws {
        let (simulators, text) = try await Self.simulated()
        let file = try ProgramTests.temporary("gateway.yaml", text)
        let program = try ProgramTests.program().path
        for command in ["check", "run"] {
            let ended = try await Tool.run([
                try await Self.without.value, missing, program, command, "--config", file,
            ])
            #expect(ended.status == 78, "\(ended.text)")
            #expect(
                ended.text.contains("gateway.yaml:6:16: plugin-no-sandbox: plugin \"shop\""),
                "\(ended.text)")
            #expect(ended.text.contains("isolation: sandbox needs \(name)"), "\(ended.text)")
            #expect(ended.text.contains("use isolation: process"))
        }
        let trusting = try ProgramTests.temporary(
            "gateway.yaml",
            text.replacingOccurrences(of: "isolation: sandbox", with: "isolation: process"))
        let fine = try await Tool.run([
            try await Self.without.value, missing, program, "check", "--config", trusting,
        ])
        #expect(fine.status == 0, "\(fine.text)")
        await simulators.shutdown()
    }

    @Test func `a container that forbids namespaces has sandboxes without them, and they say so`()
        async throws
    {
        let (simulators, text) = try await Self.simulated()
        let file = try ProgramTests.temporary("gateway.yaml", text)
        let program = try ProgramTests.program().path
        let pipe = Pipe()
        let process = try Program(
            [try await Self.without.value, "namespaces", program, "run", "--config", file],
            at: PluginRig.root,
            output: pipe, errors: pipe)
        let log = try await Tool.read(pipe, until: "gateway is up")
        #expect(log.contains("the sandbox does without namespaces"), "\(log)")
        process.terminate()
        _ = try await Tool.rest(pipe)
        #expect(try await Tool.end(process) == 0)
        await simulators.shutdown()
    }
}
