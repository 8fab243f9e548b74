import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxSimulators
import Testing

@Suite struct CredentialTests {
    @Test func `a start does not wait for a token endpoint that does not answer`() async throws {
        // Connections are made, and nobody answers.
        let silent = try HeldSocket()
        let rig = try await GatewayRig(config: { simulators in
            let account = simulators.files.serviceAccount
            let text = (try? String(contentsOfFile: account, encoding: .utf8)) ?? ""
            let other = text.replacing(
                simulators.fcm.origin, with: "https://127.0.0.1:\(silent.port)")
            let file = (try? ProgramTests.temporary("account.json", other)) ?? ""
            return GatewayRig.yaml(simulators).replacing(account, with: file)
                .replacing("drain: 5s", with: "drain: 0s")
        })
        // The other sender is not held up either.
        try await rig.post(GatewayRig.webhook([("ios", "a"), ("android", "b")]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["a"])
        // Nothing has come of it yet.
        #expect(!rig.log.all.contains { $0.contains("credential cannot be refreshed") })
        #expect(rig.simulators.fcm.received.isEmpty)
        await rig.end()
        withExtendedLifetime(silent) {}
    }

    @Test func `a certificate that is replaced under load loses no push`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: "push.p12")
        func write(_ name: String, _ authority: ThrowAway.Identity) throws {
            let identity = try ThrowAway.clientIdentity(
                name: name, userID: "com.example.app", authority: authority)
            try Data(try ThrowAway.pkcs12(identity, password: nil, isLegacy: true)).write(
                to: file, options: .atomic)
        }
        let rig = try await GatewayRig(config: { simulators in
            try? write("first", simulators.authority)
            let plugins = GatewayRig.plugins(simulators)
            let from = plugins.range(of: "      team_id:")!.lowerBound
            let to = plugins.range(of: "      topic:")!.lowerBound
            return plugins[..<from] + "      certificate: \"${file:\(file.path)}\"\n"
                + plugins[to...]
                + "\n" + GatewayRig.routes
        })
        var sent = 0
        func push() async throws {
            sent += 1
            try await rig.post(GatewayRig.webhook([("ios", "t\(sent)")], ticket: "\(sent)"))
        }
        for _ in 0..<20 { try await push() }
        try write("second", rig.simulators.authority)
        // The file is checked every two seconds; pushes continue meanwhile.
        while !rig.simulators.apns.received.contains(where: {
            $0.clientCertificate.contains("second")
        }), sent < 20_000 {
            try await push()
        }
        for _ in 0..<20 { try await push() }
        let tokens = await rig.delivered(rig.simulators.apns, sent)
        #expect(Set(tokens) == Set((1...sent).map { "t\($0)" }))
        let subjects = rig.simulators.apns.received.map(\.clientCertificate)
        #expect(subjects.first?.contains("CN=first") == true)
        #expect(subjects.last?.contains("CN=second") == true)
        await rig.end()
        try? FileManager.default.removeItem(at: folder)
    }
}
