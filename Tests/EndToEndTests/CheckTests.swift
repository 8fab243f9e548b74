import Foundation
import PluginRig
import Signalbox
import SignalboxConfig
import SignalboxCrypto
import Testing

/// Every fault that `signalbox check` knows, one file each.
///
/// A file holds a gateway.yaml, a line `=== faults`, and the output of `check` with its warnings.
@Suite struct CheckTests {
    static let folder = PluginRig.root.appending(path: "Tests/Fixtures/Check")
    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasSuffix(".golden") }.map { String($0.dropLast(7)) }.sorted()
    }()
    /// The configuration and its faults.
    static func golden(_ name: String) throws -> (yaml: String, faults: String) {
        let text = try String(
            contentsOf: folder.appending(path: "\(name).golden"), encoding: .utf8)
        let parts = text.components(separatedBy: "=== faults\n")
        try #require(parts.count == 2, "\(name).golden needs one line === faults")
        return (parts[0], parts[1])
    }
    static let key = Result { try ThrowAway.p256Key().privateKeyPEM() }

    static func options(_ name: String) throws -> GatewayOptions {
        let plugins = try GatewayRig.pluginFolder()
        let yaml = try golden(name).yaml
        var options = GatewayOptions(configPath: "\(name).yaml")
        options.searchPath.folders = [plugins]
        options.setRunner(try PluginRig.runner())
        options.environment = ConfigEnvironment(
            variables: [
                "TEST_KEY": String(decoding: try key.get(), as: UTF8.self),
                "TEST_SECRET": "hunter2",
                "TEST_BOM": "\u{FEFF}hunter2-hunter2",
                "TEST_LINES": "hunter2-hunter2-hunter2\nhunter2",
                "TEST_SPACE": "hunter2-hunter2 ",
            ],
            readFile: { path in
                // Finds the configuration and no other file.
                path == "\(name).yaml" ? .success(Array(yaml.utf8)) : .failure(.missing)
            })
        return options
    }

    @Test(arguments: names)
    func `a fault has its place, its code and its words`(name: String) async throws {
        let expected = try Self.golden(name).faults
        let report = await Gateway.examine(try Self.options(name))
        // Zendesk is in all of them, as bare as it can be.
        let warnings = report.warnings.filter { name == "unreported" || $0.code != "unreported" }
        let lines = report.faults.map { "\($0)" } + warnings.map { "warning: \($0)" }
        let folder = try GatewayRig.pluginFolder()
        let words = lines.joined(separator: "\n").replacingOccurrences(
            of: folder, with: "{plugins}")
        #expect(words + "\n" == expected)
        #expect(!words.contains("hunter2"))
    }

    @Test func `every code is explained`() throws {
        let text = try String(
            contentsOf: PluginRig.root.appending(path: "docs/errors.md"), encoding: .utf8)
        for name in Self.names {
            for line in try Self.golden(name).faults.split(separator: "\n") {
                let fault = line.hasPrefix("warning: ") ? line.dropFirst(9) : line
                let parts = fault.split(separator: ":", maxSplits: 4)
                let code = parts[3].trimmingCharacters(in: .whitespaces)
                #expect(text.contains("`\(code)`"), "docs/errors.md does not explain \(code)")
            }
        }
    }

    /// What `signalbox check` says about an example whose YAML was changed.
    static func warnings(
        _ example: String, _ yaml: (String) -> String = { $0 }
    ) async throws -> [String] {
        let folder = PluginRig.root.appending(path: "Examples/\(example)")
        let text = try String(
            contentsOf: folder.appending(path: "gateway.yaml"), encoding: .utf8)
        let rsa = String(decoding: try ThrowAway.rsaKey().privateKeyPEM(), as: UTF8.self)
        let account =
            ["project_id": "p", "client_email": "c", "token_uri": "https://x", "private_key": rsa]
        let files = try Workshop.folder()
        let (apns, fcm) = (files.appending(path: "a.p8"), files.appending(path: "f.json"))
        try Data(key.get()).write(to: apns)
        try JSONSerialization.data(withJSONObject: account).write(to: fcm)
        let config = files.appending(path: "gateway.yaml")
        try yaml(text).write(to: config, atomically: true, encoding: .utf8)
        var options = GatewayOptions(configPath: config.path)
        options.searchPath.folders = [try GatewayRig.pluginFolder()]
        options.overlay(
            variables: [
                "SENDBIRD_APP_ID": "APP", "SENDBIRD_API_TOKEN": "t", "SENDBIRD_DESK_TOKEN": "t",
                "APNS_TEAM_ID": "ABCDE12345", "APNS_KEY_ID": "FGHIJ67890",
                "DEVICES_TOKEN": "token-of-the-backend",
            ], files: ["secrets/apns.p8": apns.path, "secrets/fcm.json": fcm.path])
        return try await Gateway.check(options).map {
            "\($0)".replacingOccurrences(of: config.path, with: "gateway.yaml")
        }
    }

    @Test func `either Sendbird pushes or Signalbox: both is a warning with place and fix`()
        async throws
    {
        #expect(try await Self.warnings("sendbird") == [])
        #expect(try await Self.warnings("sendbird-forwarding") == [])
        // An instance that gets reports, with a route for all of its events.
        let any = try await Self.warnings("sendbird-forwarding") {
            $0.replacing("    when: { type: message.read }\n", with: "")
        }
        #expect(
            any == [
                "gateway.yaml:46:11: double-push: route \"badges\" pushes message.sent, desk.message.sent, and "
                    + "so does the provider of \"sendbird\", which devices.report tells of the devices: users "
                    + "get it twice; take \"sendbird\" out of devices.report, or these events out of the route"
            ])
        let both = try await Self.warnings("sendbird") {
            $0.replacing("\nroutes:", with: "  report: { com.example.app: [sendbird] }\n\nroutes:")
                .replacing("path: /in/sendbird\n", with: "path: /in/sendbird\n      register: {}\n")
        }
        // Without `register` nothing is forwarded.
        let told = try await Self.warnings("sendbird") {
            $0.replacing("\nroutes:", with: "  report: { com.example.app: [sendbird] }\n\nroutes:")
        }
        #expect(told.count == 1)
        #expect(
            told.first?.contains("idle-report: devices: plugin \"sendbird\" takes no rep") == true)
        #expect(both.count == 2)
        #expect(both.first?.contains("route \"chat\" pushes message.sent, and so") == true)
        #expect(both.last?.contains("route \"desk\" pushes desk.message.sent, and so") == true)
    }
}
