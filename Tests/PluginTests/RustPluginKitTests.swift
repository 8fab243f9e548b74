import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// The Rust kit: its own tests, and a plugin that asks this host for everything.
@Suite struct RustPluginKitTests {
    /// The probe with its ingest role. Its login server issues tokens, the other one answers JSON.
    private func probe(
        _ more: [String: [UInt8]] = [:], refreshed: Once<Bool>? = nil
    ) async throws -> (RigServices, PluginInstance, IngestRole) {
        let library = try await RustRig.project(
            PluginRig.root.appending(path: "Tests/Fixtures/RustProbe"), name: "RustProbe")
        let services = RigServices(nowUnixMs: 1_767_323_045_000) { call in
            let body = call.url.hasSuffix("/token") ? #"{"access_token":"abc"}"# : #"{"a":[1]}"#
            return .success(
                PluginHTTPAnswer(
                    status: 201, headers: [Attribute("x-b", "2")], body: Array(body.utf8)))
        }
        let secrets = more.merging(["key": Array("a key".utf8)]) { own, _ in own }
        let config = CheckedConfig(
            json: .object([]), secrets: secrets.mapValues { PluginSecret(bytes: $0) })
        let instance = try await PluginInstance.create(
            name: "test", library: try PluginLibrary.load(library), config: config, version: "test",
            services: services)
        instance.whenCredentialReady { refreshed?.set(true) }
        try await instance.start()
        return (services, instance, try #require(try await IngestRole(instance, limits: Limits())))
    }

    private func ask(_ role: IngestRole, _ what: String, _ body: String = "") async -> IngestResult
    {
        var request = IngestRequest(
            method: "POST", path: "/probe/\(what)", pattern: "/probe/{what}",
            body: Array(body.utf8), receivedUnixMs: 5)
        request.params = [Attribute("what", what)]
        let once = Once<IngestResult>()
        role.handle(request) { once.set($0) }
        return await once.value() ?? IngestResult()
    }

    private func answer(_ role: IngestRole, _ what: String, _ body: String = "") async -> String {
        let result = await ask(role, what, body)
        return result.fault?.message ?? String(decoding: result.answer?.body ?? [], as: UTF8.self)
    }

    @Test func `the crate's own tests pass`() async throws {
        let output = try await RustRig.tool([
            "cargo", "test", "--offline", "--locked", "--manifest-path",
            "Sources/RustPluginKit/Cargo.toml", "--target-dir", RustRig.target,
        ])
        #expect(!output.contains("warning"), "\(output)")
        for test in [
            "sizes_offsets_and_constants_are_those_of_the_c_compiler",
            "a_panic_is_an_internal_fault_wherever_it_happens",
        ] {
            #expect(output.contains("\(test) ... ok"), "\(output)")
        }
    }

    @Test func `services that answer at once`() async throws {
        let (services, instance, role) = try await probe()
        #expect(role.paths == [IngestPath(pattern: "/probe/{what}", methods: ["GET", "POST"])])
        #expect(await answer(role, "names") == "test test")
        #expect(await answer(role, "log") == "")
        #expect(services.lines.contains("test warn a line a=1 b=2"))
        #expect(services.counts["seen_total"] == 2 && services.counts["height"] == -5)
        #expect(await answer(role, "clock") == "1767323045000 [Some(3600), None]")
        let digest = HMACDigest.sha256(key: Array("a key".utf8), data: Array("data".utf8))
        let hex = digest.map { String(format: "%02x", $0) }.joined()
        let signed = await answer(role, "sign", "data")
        #expect(signed == "\(hex) true false Err(NotFound)")
        #expect(
            await answer(role, "crypto", "text")
                == "true 65 20 true 900150983cd24fb0d6963f7d28e17f72 Err(Auth) Err(Invalid)")
        #expect(await answer(role, "secret", "a key") == "true")
        #expect(await answer(role, "secret", "a kex") == "false")
        #expect(await ask(role, "nothing").fault?.kind == .notFound)
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `JSON of every kind`() async throws {
        let (services, instance, role) = try await probe()
        let text =
            #"{"list":[1,2.5,-3],"a/b~c":"ü\n","flag":true,"none_":null,"big":18446744073709551615,"in":{"x":{}}}"#
        let expected =
            #"Object of 6: list=Array/[1,2.5,-3] a/b~c=String/"ü\n" flag=Boolean/true none_=Null/null "#
            + #"big=Number/18446744073709551615 in=Object/{"x":{}} "#
            + #"[Some(1), None, Some(-3)] Some("ü\n") Some(true) true"#
        let walked = await answer(role, "json", text)
        #expect(walked == expected)
        let fault = await ask(role, "json", "{").fault
        #expect(fault?.kind == .invalid)
        #expect(fault?.message.hasPrefix("the body is not JSON: ") == true)
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `services that answer later`() async throws {
        let (services, instance, role) = try await probe()
        #expect(await answer(role, "value") == "Ok(()) Ok(Some([118, 49])) Ok(None)")
        let edited = #"Ok(7) Ok(Other(Some([55]))) Ok(Done) Err(Invalid) Ok(["n"])"#
        let said = await answer(role, "edit")
        #expect(said == edited, "\(said)")
        #expect(await answer(role, "http") == #"201 Some("2") Some("[1]")"#)
        let call = try #require(services.calls.first { $0.url == "https://api.example/x" })
        #expect(call.method == "PUT" && call.headers.map(\.key) == ["x-a"])
        #expect(call.body == Array("body".utf8) && call.timeoutMs == 1_000)
        #expect(call.refusesPrivateAddresses)
        #expect(await answer(role, "registry") == #"Ok(()) ["t1 Some(\"true\")"] true"#)
        #expect(await answer(role, "timer") == "rang")
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `credentials are refreshed, certificates are read`() async throws {
        let issued = try ThrowAway.certificateAuthority(name: "com.example.app")
        let refreshed = Once<Bool>()
        let (services, instance, role) = try await probe(
            ["certificate": issued.certificatePEM], refreshed: refreshed)
        #expect(await refreshed.value() == true)
        #expect(await answer(role, "credential") == "token abc")
        #expect(await answer(role, "certificate") == "CN=com.example.app true")
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `a panic stays in the plugin, and says nothing of the body`() async throws {
        let (services, instance, role) = try await probe()
        let fault = try #require(await ask(role, "panic", "token-in-the-body").fault)
        #expect(fault.kind == .internal)
        #expect(fault.message.hasPrefix("the plugin panicked at "), "\(fault.message)")
        #expect(!fault.message.contains("token-in-the-body"))
        // In a callback nobody waits for the answer, and everything the closure owned is released.
        let late = try #require(await ask(role, "late").fault)
        #expect(late.kind == .internal && late.message == "the plugin forgot the request")
        await services.waitFor { services.lines.contains { $0.contains("a callback panicked") } }
        #expect(services.lines.contains { $0.contains("panicked at") && $0.contains("too late") })
        #expect(await ask(role, "forget").fault?.message == "the plugin forgot the request")
        #expect(await answer(role, "names") == "test test")
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `authors in Rust write no unsafe code, and need no registry`() throws {
        let folders = ["Plugins", "Sources/RustPluginKit/templates", "Tests/Fixtures/RustProbe"]
        var roots = 0
        for folder in folders {
            let base = PluginRig.root.appending(path: folder)
            let paths = FileManager.default.enumerator(atPath: base.path)?.allObjects as? [String]
            for path in paths ?? [] where path.hasSuffix(".rs") || path.hasSuffix("Cargo.toml") {
                let text = try String(contentsOf: base.appending(path: path), encoding: .utf8)
                if path.hasSuffix(".rs") {
                    #expect(!text.contains("unsafe ") && !text.contains("extern "), "\(path)")
                    guard text.contains("signalbox_plugin::plugin!(") else { continue }
                    roots += 1
                    #expect(text.contains("#![forbid(unsafe_code)]"), "\(path)")
                } else {
                    let needs = text.split(separator: "[dependencies]\n").last ?? ""
                    let names = needs.prefix { $0 != "[" }.split(separator: "\n")
                    #expect(names.count == 1, "\(path): \(names)")
                    #expect(names.allSatisfy { $0.hasPrefix("signalbox-plugin = { path = ") })
                }
            }
        }
        #expect(roots == 10)
    }
}
