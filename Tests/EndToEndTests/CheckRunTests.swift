import Foundation
import PluginRig
import Signalbox
import SignalboxConfig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import Testing

/// `check` and `run` agree: what one refuses, the other refuses.
@Suite struct CheckRunTests {
    @Test(arguments: CheckTests.names)
    func `a start refuses what check calls a fault, and only that`(name: String) async throws {
        let faults = try CheckTests.golden(name).faults.split(separator: "\n")
            .filter { !$0.hasPrefix("warning: ") }
        var options = try CheckTests.options(name)
        options.silence()
        if !faults.contains(where: { $0.contains(": store-not-writable: ") }) {
            options.dataFolder = try Workshop.folder().path
        }
        if faults.isEmpty {
            _ = options.setListen("127.0.0.1:0")
            _ = options.setAdmin("127.0.0.1:0")
            await #expect(throws: Never.self) { await (try Gateway.start(options)).stop() }
        } else {
            let error = await #expect(throws: ConfigurationError.self) {
                await (try Gateway.start(options)).stop()
            }
            let first = error?.diagnostics.first.map { "\($0)" } ?? ""
            let folder = try GatewayRig.pluginFolder()
            #expect(faults.contains { first.replacing(folder, with: "{plugins}") == $0 })
        }
    }

    /// A folder with a gateway.yaml, a key of APNs and further files.
    private static func place(
        _ gateway: String = "{ listen: \"127.0.0.1:0\", admin: \"127.0.0.1:0\" }",
        apns: String = "", files: [String: [UInt8]] = [:]
    ) throws -> (options: GatewayOptions, file: URL) {
        let folder = try Workshop.folder()
        for (name, bytes) in files { try Data(bytes).write(to: folder.appending(path: name)) }
        try Data(CheckTests.key.get()).write(to: folder.appending(path: "apns.p8"))
        let file = folder.appending(path: "gateway.yaml")
        try """
        version: 1
        gateway: \(gateway)
        plugins:
          z: { library: Zendesk, config: { path: /in/z } }
          apns:
            library: APNs
            config: { team_id: ABCDE12345, key_id: FGHIJ67890, key: "${file:apns.p8}", topic: t\(apns) }
        routes: [ { name: r, from: z, send: { ios: apns } } ]
        """.write(to: file, atomically: true, encoding: .utf8)
        var options = GatewayOptions(configPath: file.path)
        options.searchPath.folders = [try GatewayRig.pluginFolder()]
        options.silence()
        return (options, file)
    }

    /// Codes of the faults, the same in a check and in a start.
    private static func codes(_ options: GatewayOptions) async throws -> [String] {
        let checked = await Gateway.examine(options).faults
        let started = await #expect(throws: ConfigurationError.self) {
            await (try Gateway.start(options)).stop()
        }
        #expect(checked.map(\.code) == started?.diagnostics.map(\.code))
        return checked.map { "\($0.position.line): \($0.code): \($0.message)" }
    }

    @Test func `certificate and key that do not belong together are found with their place`()
        async throws
    {
        let authority = try ThrowAway.certificateAuthority(name: "Test CA")
        let one = try ThrowAway.serverIdentity(authority: authority)
        let other = try ThrowAway.serverIdentity(authority: authority)
        let files = [
            "one.pem": one.certificatePEM, "one.key": one.privateKeyPEM,
            "other.key": other.privateKeyPEM, "none": Array("text".utf8),
        ]
        for (key, roots, words) in [
            ("other.key", "one.pem", "the certificate does not match the key"),
            ("none", "one.pem", "the key is not PEM"),
            ("one.key", "none", "the clients' CA is not PEM"),
            ("one.key", "one.pem", nil),
        ] {
            let (options, _) = try Self.place(
                """
                { listen: "127.0.0.1:0", admin: false, tls: { certificate: "${file:one.pem}", \
                key: "${file:\(key)}", client_ca: "${file:\(roots)}" } }
                """, files: files)
            guard let words else {
                #expect(await Gateway.examine(options).faults.isEmpty)
                continue
            }
            let found = try await Self.codes(options)
            #expect(found.count == 1)
            #expect(found.first?.hasPrefix("2: bad-tls: gateway.tls: \(words)") == true)
        }
    }

    @Test func `a sender's endpoint that a start refuses is refused by check`() async throws {
        let (options, _) = try Self.place(
            apns: ", ca: ca.pem", files: ["ca.pem": Array("no certificate".utf8)])
        let found = try await Self.codes(options)
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("7: bad-endpoint: plugin \"apns\"") == true)
    }

    @Test func `a check beside the running gateway finds nothing, and takes nothing from it`()
        async throws
    {
        let (options, file) = try Self.place()
        // Its key is not for everybody.
        chmod(file.deletingLastPathComponent().path, 0o700)
        let gateway = try await Gateway.start(options)
        let text = try String(contentsOf: file, encoding: .utf8)
            .replacing("listen: \"127.0.0.1:0\"", with: "listen: \"127.0.0.1:\(gateway.port)\"")
        try text.write(to: file, atomically: true, encoding: .utf8)
        let report = await Gateway.examine(options)
        #expect(report.faults.isEmpty && report.warnings.allSatisfy { $0.code == "unreported" })
        await gateway.stop()
    }

    // MARK: The program

    /// A configuration with one warning, and two secrets that nobody has.
    private static let secretive = """
        version: 1
        gateway: { listen: "${env:NOWHERE_LISTEN}", admin_token: "${file:secrets/admin}", data: /nowhere/data }
        plugins:
          z: { library: Zendesk, config: { path: "/in/${env:NOWHERE_PATH}" } }
          apns:
            library: APNs
            config: { team_id: ABCDE12345, key_id: FGHIJ67890, key: "${file:apns.p8}", topic: t, ca: /nowhere/ca }
        routes: [ { name: r, from: z, when: { type: ticket.repiled }, send: { ios: apns } } ]
        """

    private static func check(
        _ yaml: String, _ flags: String...
    ) async throws -> (status: Int32, output: String, errors: String) {
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        let ended = try await ProgramTests.run(["check", "--config", file] + flags)
        return (ended.status, ended.output, ended.errors)
    }

    @Test func `a file is checked without its secrets where there are none`() async throws {
        let whole = try await Self.check(Self.secretive)
        #expect(whole.status == 78)
        for code in ["unset-variable", "missing-file", "store-not-writable"] {
            #expect(whole.errors.contains(" \(code): "))
        }
        let without = try await Self.check(Self.secretive, "--no-secrets")
        #expect(without.status == 0, "\(without.errors)")
        #expect(without.output.hasSuffix("gateway.yaml: no faults, 1 warning\n"))
        #expect(without.errors.contains("did you mean \"ticket.replied\"?"))
        let strict = try await Self.check(Self.secretive, "--no-secrets", "--strict")
        #expect(strict.status == 78)
        let wrong = try await Self.check(
            Self.secretive.replacing("topic: t", with: "topc: t"), "--no-secrets")
        #expect(wrong.status == 78 && wrong.errors.contains("unknown-key"))
    }

    static let shipped =
        ["gateway.yaml"]
        + ((try? FileManager.default.contentsOfDirectory(
            atPath: PluginRig.root.appending(path: "Examples").path)) ?? [])
        .map { "Examples/\($0)/gateway.yaml" }
        .filter { FileManager.default.fileExists(atPath: PluginRig.root.appending(path: $0).path) }

    @Test(arguments: shipped)
    func `a shipped configuration has neither fault nor warning`(file: String) async throws {
        var options = GatewayOptions(configPath: PluginRig.root.appending(path: file).path)
        options.searchPath.folders = [try GatewayRig.pluginFolder()]
        options.hasSecrets = false
        let report = await Gateway.examine(options)
        #expect(report.faults.isEmpty && report.warnings.isEmpty, "\(report.json)")
        #expect(Self.shipped.count > 8)
    }

    @Test func `JSON and SARIF have every fault and warning with its place`() async throws {
        let yaml = Self.secretive.replacing("topic: t", with: "topc: t")
        let json = try JSONValue.parse(
            try await Self.check(yaml, "--no-secrets", "--json").output)
        #expect(json["faults"]?[0]?["code"]?.string == "unknown-key")
        #expect(json["faults"]?[0]?["line"] == .integer(7))
        #expect(json["warnings"]?[0]?["code"]?.string == "unknown-type")
        let sarif = try JSONValue.parse(
            try await Self.check(yaml, "--no-secrets", "--sarif").output)
        #expect(sarif["version"]?.string == "2.1.0")
        let results = sarif["runs"]?[0]?["results"]
        let result = results?[0]
        #expect(result?["ruleId"]?.string == "unknown-key" && result?["level"]?.string == "error")
        let place = result?["locations"]?[0]?["physicalLocation"]
        #expect(place?["region"]?["startLine"] == .integer(7))
        let uri = place?["artifactLocation"]?["uri"]?.string
        #expect(uri?.hasSuffix("/gateway.yaml") == true)
        #expect(results?[1]?["level"]?.string == "warning")
        #expect(try await Self.check(yaml, "--json", "--sarif").status == 64)
    }
}
