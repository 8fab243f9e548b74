import Foundation
import PluginRig
import Testing

/// Tests/SMTPStress: the plugin's threads and memory under the sanitizers.
///
/// The server misbehaves at random.
@Suite(.timeLimit(.minutes(15))) struct SMTPStressTests {
    @Test(arguments: ["address,undefined", "thread"])
    func `no fault of memory or threads, and one outcome each`(sanitizer: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appending(path: "stress").path
        let sources = try ["Plugins/SMTP", "Tests/SMTPStress"].flatMap { path in
            let base = PluginRig.root.appending(path: path).path
            return try FileManager.default.contentsOfDirectory(atPath: base)
                .filter { $0.hasSuffix(".c") }.map { "\(base)/\($0)" }
        }
        #expect(sources.count > 10)
        let built = try await Tool.run(
            [
                "cc", "-std=gnu11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-O1",
                "-fsanitize=\(sanitizer)", "-fno-sanitize-recover=all",
                "-DSMTP_GIVE_UP_NS=800000000u",
                "-DSMTP_IDLE_NS=20000000u", "-I", PluginRig.root.appending(path: "include").path,
                "-o", program,
            ] + sources + ["-lssl", "-lcrypto", "-pthread"])
        try #require(built.status == 0, "\(built.text)")
        var ran = try await Tool.run([program, "5"])
        if ran.text.contains("unexpected memory mapping") {
            // An older compiler's sanitizer fails on a newer kernel.
            ran = try await Tool.run(["setarch", "-R", program, "5"])
        }
        #expect(ran.status == 0, "\(ran.text)")
        #expect(ran.text.contains("delivered") && !ran.text.contains("ERROR"), "\(ran.text)")
    }
}
