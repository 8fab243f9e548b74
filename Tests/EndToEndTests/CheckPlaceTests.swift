import Foundation
import Logging
import PluginRig
import Signalbox
import SignalboxCrypto
import SignalboxPluginHost
import Testing

/// What `check` says about files and folders that others may change or read.
@Suite struct CheckPlaceTests {
    /// A folder of its own with a gateway.yaml, secrets and a data folder, all closed to others.
    private struct Place {
        let folder: String
        var file: String { folder + "/gateway.yaml" }
        var key: String { folder + "/apns.p8" }
        var certificate: String { folder + "/tls.pem" }
        var data: String { folder + "/data" }

        init() throws {
            folder = try #require(
                PluginSearchPath.absolute(try Workshop.folder("check").path))
            let identity = try ThrowAway.serverIdentity(
                authority: try ThrowAway.certificateAuthority(name: "Test CA"))
            for (name, bytes) in [
                ("tls.pem", identity.certificatePEM), ("tls.key", identity.privateKeyPEM),
                ("apns.p8", Array(try CheckTests.key.get())),
            ] {
                try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)"))
                chmod("\(folder)/\(name)", 0o600)
            }
            mkdir(data, 0o700)
            chmod(folder, 0o755)
            try """
            version: 1
            gateway:
              listen: "127.0.0.1:0"
              admin: false
              tls: { certificate: "${file:tls.pem}", key: "${file:tls.key}" }
            plugins:
              z: { library: Zendesk, config: { path: /in/z } }
              apns:
                library: APNs
                config: { team_id: ABCDE12345, key_id: FGHIJ67890, key: "${file:${env:NAME}}", topic: t }
              direct:
                library: APNs
                config: { team_id: ABCDE12345, key_id: FGHIJ67890, key: "${file:apns.p8}", topic: t }
            routes:
              - { name: r, from: z, send: { ios: apns } }
              - { name: s, from: z, send: { ios: direct } }
            """.write(toFile: file, atomically: true, encoding: .utf8)
            chmod(file, 0o644)
        }

        func options() throws -> GatewayOptions {
            var options = GatewayOptions(configPath: file)
            options.searchPath.folders = [try GatewayRig.pluginFolder()]
            options.environment.variables["NAME"] = "tls.key"
            return options
        }

        /// Warnings without the name of the folder.
        func warnings() async throws -> [String] {
            try await Gateway.check(try options()).filter { $0.code != "unreported" }.map {
                "\($0)".replacing(folder + "/", with: "").replacing(folder, with: "FOLDER")
            }
        }
    }

    @Test func `what everybody may write is named, with its mode and what to do`() async throws {
        let place = try Place()
        chmod(place.file, 0o666)
        chmod(place.key, 0o602)
        chmod(place.data, 0o777)
        #expect(
            try await place.warnings() == [
                "gateway.yaml:1:1: file-unsafe: gateway.yaml is writable by everybody (mode 0666): "
                    + "chmod o-w gateway.yaml",
                "gateway.yaml:1:1: file-unsafe: the folder data is writable by everybody (mode 0777): "
                    + "chmod o-w data",
                "gateway.yaml:13:61: file-unsafe: apns.p8 is writable by everybody (mode 0602): "
                    + "chmod o-w apns.p8",
            ])
        // In a sticky folder each may remove only what is theirs.
        chmod(place.file, 0o644)
        chmod(place.key, 0o600)
        chmod(place.data, 0o1777)
        // Certificates are public.
        chmod(place.certificate, 0o644)
        #expect(try await place.warnings() == [])
        // A folder above is named once.
        chmod(place.folder, 0o777)
        #expect(
            try await place.warnings() == [
                "gateway.yaml:1:1: file-unsafe: gateway.yaml: the folder FOLDER is writable by everybody "
                    + "(mode 0777): chmod o-w FOLDER"
            ])
    }

    @Test func `files that plugins read and the audit log are looked at, too`() async throws {
        let place = try Place()
        let (ca, audit) = (place.folder + "/ca.pem", place.folder + "/audit.log")
        try FileManager.default.copyItem(atPath: place.certificate, toPath: ca)
        try Data().write(to: URL(filePath: audit))
        let text = try String(contentsOfFile: place.file, encoding: .utf8)
            .replacing("admin: false", with: "admin: false\n  audit: audit.log")
            .replacing(
                "${file:apns.p8}\", topic: t }", with: "${file:apns.p8}\", topic: t, ca: \(ca) }")
        try text.write(toFile: place.file, atomically: true, encoding: .utf8)
        for file in [ca, audit] { chmod(file, 0o606) }
        chmod(place.file, 0o644)
        let warnings = try await place.warnings()
        for name in ["ca.pem", "audit.log"] {
            #expect(
                warnings.contains {
                    $0.contains(
                        "file-unsafe: \(name) is writable by everybody (mode 0606): chmod o-w \(name)"
                    )
                }, "\(warnings)")
        }
        #expect(warnings.count == 2)
    }

    @Test func `a secret that everybody may read is named, unless its folder is closed`()
        async throws
    {
        let place = try Place()
        chmod(place.key, 0o604)
        let words = "apns.p8 is readable by everybody (mode 0604): chmod o-r apns.p8"
        #expect(try await place.warnings() == ["gateway.yaml:13:61: secret-readable: \(words)"])
        chmod(place.folder, 0o750)
        #expect(try await place.warnings() == [])
    }

    @Test(arguments: [
        "  admin_token: abcdefghijklmnopqrst\n",
        "outcomes: [{ name: o, url: \"https://a.example\", secret: abcdefghijklmnopqrst }]\n",
        """
        devices:
          users:
            - name: app
              app: t
              issuer: https://id.example
              audience: c
              jwks_url: https://id.example/keys
              code: { token_url: "https://id.example/token", client_id: c, client_secret: abcdefghijklmnopqrst }

        """,
        "  tracing: { endpoint: \"https://a.example\", headers: { x-team: abcdefghijklmnopqrst } }\n",
    ])
    func `gateway.yaml is named, too, if a secret is written in it`(secret: String) async throws {
        let place = try Place()
        let text = try String(contentsOfFile: place.file, encoding: .utf8)
        try text.replacing("plugins:\n", with: secret + "plugins:\n")
            .write(toFile: place.file, atomically: true, encoding: .utf8)
        chmod(place.file, 0o640)
        #expect(try await place.warnings() == [])
        chmod(place.file, 0o644)
        let words =
            "gateway.yaml has a secret written in it, and is readable by everybody (mode 0644): chmod o-r gateway.yaml"
        #expect(try await place.warnings() == ["gateway.yaml:1:1: secret-readable: \(words)"])
    }

    @Test func `what a variable adds to a path is not shown`() async throws {
        let place = try Place()
        chmod(place.folder + "/tls.key", 0o606)
        let warnings = try await place.warnings()
        #expect(warnings.contains { $0.contains("tls.key") } == true)
        // Only the place that names the file as it is.
        #expect(warnings.count == 2)
        var options = try place.options()
        options.setConfig(
            text: try String(contentsOfFile: place.file, encoding: .utf8)
                .replacing(
                    "tls: { certificate: \"${file:tls.pem}\", key: \"${file:tls.key}\" }", with: ""),
            folder: place.folder)
        let shown = try await Gateway.check(options).filter { $0.code != "unreported" }
            .map(\.message)
        #expect(
            shown == [
                "${env:NAME} is writable by everybody (mode 0606): chmod o-w ${env:NAME}",
                "${env:NAME} is readable by everybody (mode 0606): chmod o-r ${env:NAME}",
            ])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `other users and groups are found, the gateway's own are not`() async throws {
        let place = try Place()
        chown(place.key, 0, 54_321)
        chmod(place.key, 0o660)
        #expect(
            try await place.warnings() == [
                "gateway.yaml:13:61: file-unsafe: apns.p8 is writable by group 54321 (mode 0660): "
                    + "chmod g-w apns.p8"
            ])
        chown(place.key, 54_321, 0)
        #expect(
            try await place.warnings() == [
                "gateway.yaml:13:61: file-unsafe: apns.p8 belongs to user 54321, who is neither root nor "
                    + "the user that runs signalbox"
            ])
        // Root checks the configuration of a gateway that runs as the data folder's owner.
        chown(place.data, 54_321, 0)
        #expect(try await place.warnings() == [])
    }

    @Test
    func `a start and a reload log the same, and nothing is asked of a machine that is another`()
        async throws
    {
        let place = try Place()
        chmod(place.key, 0o602)
        var options = try place.options()
        let log = LineStore()
        options.logger = Logger(label: "test") { _ in StoreHandler(store: log) }
        let gateway = try await Gateway.start(options)
        let lines = log.all.filter { $0.contains("file-unsafe") }
        #expect(lines.count == 1 && lines.first?.contains("configuration warning") == true)
        try await gateway.reload()
        #expect(log.all.count { $0.contains("file-unsafe") } == 2)
        await gateway.stop()
        options.hasSecrets = false
        let report = await Gateway.examine(options)
        #expect(report.warnings.map(\.code) == ["unreported"])
    }
}
