import Foundation
import PluginRig
import SignalboxCrypto
import Testing

@testable import SignalboxPluginHost

/// Files of secrets that change while a plugin runs.
@Suite struct SecretFileTests {
    private static func rig(
        _ plugin: String, _ config: String, _ file: String, _ bytes: [UInt8]
    ) async throws -> (rig: SendRig, file: URL) {
        let folder = try Workshop.folder()
        let file = folder.appending(path: file)
        try Data(bytes).write(to: file)
        let rig = try await SendRig(
            plugin, config: config, files: folder.path, services: RigServices())
        return (rig, file)
    }

    private static func waits(_ rig: SendRig, for words: String) async -> String? {
        await rig.services.waitFor { rig.services.lines.contains { $0.contains(words) } }
        return rig.services.lines.first { $0.contains(words) }
    }

    @Test func `one that breaks the rules of the config is not taken over`() async throws {
        let (rig, file) = try await Self.rig(
            "Webhook", #"{"url":"https://a.example/x","secret":"${file:s}"}"#, "s",
            Array("a-secret-of-enough-bytes".utf8))
        try Data("a\n".utf8).write(to: file)
        let line = try #require(await Self.waits(rig, for: "cannot be used"))
        #expect(line.contains("config.secret must be at least 16 bytes long"))
        #expect(!rig.services.lines.contains { $0.contains("reloaded") })
        let known = rig.instance.context.secrets.bytes("secret")
        #expect(known == Array("a-secret-of-enough-bytes".utf8))
        try Data("another-secret-of-enough-bytes\n".utf8).write(to: file)
        #expect(await Self.waits(rig, for: "reloaded a changed secret file") != nil)
        #expect(rig.services.lines.count { $0.contains("cannot be used") } == 1)
        await rig.end()
    }

    @Test func `one that the plugin cannot use is not taken over`() async throws {
        let (first, second) = (try ThrowAway.p256Key(), try ThrowAway.p256Key())
        let (rig, file) = try await Self.rig(
            "APNs", #"{"topic":"a.b","team_id":"T","key_id":"K","key":"${file:k.p8}"}"#, "k.p8",
            try first.privateKeyPEM())
        try Data("garbage\n".utf8).write(to: file)
        #expect(await Self.waits(rig, for: "cannot be used") != nil)
        #expect(!rig.services.lines.contains { $0.contains("cannot be refreshed") })
        let known = rig.instance.context.secrets.bytes("key") ?? []
        #expect(try first.privateKeyPEM().starts(with: known) && known.count > 100)
        try Data(try second.privateKeyPEM()).write(to: file)
        #expect(await Self.waits(rig, for: "reloaded a changed secret file") != nil)
        await rig.end()
    }

    @Test func `a file that is gone is a warning, and the secret stays`() async throws {
        let (rig, file) = try await Self.rig(
            "Webhook", #"{"url":"https://a.example/x","secret":"${file:s}"}"#, "s",
            Array("a-secret-of-enough-bytes".utf8))
        try FileManager.default.removeItem(at: file)
        #expect(await Self.waits(rig, for: "gone or empty; the secret stays in use") != nil)
        #expect(rig.instance.context.secrets.bytes("secret") != nil)
        await rig.end()
    }
}
