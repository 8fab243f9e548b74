import Foundation
import PluginRig
import Synchronization
import Testing

/// Tests/SMTPStress: the plugin's threads and memory under the sanitizers.
@Suite(.timeLimit(.minutes(15))) struct SMTPStressTests {
    /// Servers that misbehave at random, one reply of thirty.
    static func servers(seed: UInt64) throws -> (plain: SMTPServer, secure: SMTPServer) {
        let random = Mutex(seed)
        var options = SMTPServer.Options()
        options.username = "me"
        options.password = "opensesame"
        options.offers = ["AUTH PLAIN", "SIZE 100000"]
        options.script = { _ in
            let roll = random.withLock { state in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33 % 300)
            }
            let troubles: [SMTPServer.Action] = [
                .hangUp, .sayAndHangUp("421 4.3.2 going down"), .say("451 4.3.0 not now"),
                .say("550 5.1.1 nobody"), .say("554 no"), .say("what?"),
                .say("250-one\r\n550 two"), .say("452 4.5.3 slow down"), .sayAndHangUp("2"), .stall,
            ]
            return roll < troubles.count ? troubles[roll] : .usual
        }
        let plain = try SMTPServer(options)
        options.identity = try SMTPRig.identity()
        return (plain, try SMTPServer(options))
    }

    @Test(arguments: ["address,undefined", "thread"])
    func `no fault of memory or threads, and one outcome each`(sanitizer: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (program, ca) = (
            folder.appending(path: "stress").path, folder.appending(path: "ca.pem")
        )
        try Data(SMTPRig.authority.get().certificatePEM).write(to: ca)
        let sources = try ["Plugins/SMTP", "Tests/SMTPStress"].flatMap { path in
            let base = PluginRig.root.appending(path: path).path
            return try FileManager.default.contentsOfDirectory(atPath: base)
                .filter { $0.hasSuffix(".c") }.map { "\(base)/\($0)" }
        }
        let built = try await Tool.run(
            [
                "cc", "-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1",
                "-fsanitize=\(sanitizer)", "-fno-sanitize-recover=all",
                "-DSMTP_GIVE_UP_NS=800000000u", "-DSMTP_IDLE_NS=20000000u",
                "-I", PluginRig.root.appending(path: "include").path, "-o", program,
            ] + sources + ["-lcurl", "-lssl", "-lcrypto", "-pthread"])
        try #require(built.status == 0, "\(built.text)")
        let seed = UInt64.random(in: 1...1_000_000)
        let (plain, secure) = try Self.servers(seed: seed)
        defer {
            plain.shutdown()
            secure.shutdown()
        }
        let command = [program, "5", "\(seed)", "\(plain.port)", "\(secure.port)", ca.path]
        var ran = try await Tool.run(command)
        if ran.text.contains("unexpected memory mapping") {
            // An older compiler's sanitizer fails on a newer kernel.
            ran = try await Tool.run(["setarch", "-R"] + command)
        }
        let words = "seed \(seed): \(ran.text.suffix(2_000))"
        #expect(ran.status == 0 && !ran.text.contains("ERROR"), "\(words)")
        let delivered = ran.text.split(separator: "\n").filter { $0.hasPrefix("id ") }
        let received = Set(
            (plain.mails + secure.mails).flatMap { $0.wire.split(separator: "\r\n") }
                .filter { $0.hasPrefix("Message-ID") }.map { $0.dropFirst(12) })
        #expect(
            !delivered.isEmpty && delivered.allSatisfy { received.contains($0.dropFirst(3)) },
            "\(words)")
    }
}
