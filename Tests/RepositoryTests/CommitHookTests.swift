import Foundation
import Testing

/// `.githooks/commit-msg` lets through what CONTRIBUTING.md asks for, and nothing else.
@Suite struct CommitHookTests {
    private static let body = "\n\nWhy, and what changes."

    @Test(arguments: [
        ("Answer 413 before the body is read\(body)", ""),
        ("Pass the key on\(body)", ""),
        ("Merge branch 'main'", ""),
        ("Answer 413", "the body says why"),
        ("Answer 413\n\n# a comment of git", "the body says why"),
        ("Answer 413\nat once\(body)", "an empty line follows"),
        ("Answered 413\(body)", "is an order"),
        ("answer 413\(body)", "a capital letter"),
        ("Answer 413.\(body)", "a full stop"),
        ("Answer \(String(repeating: "4", count: 66))\(body)", "has 73 characters"),
    ])
    func `the hook holds commits to the convention`(_ message: String, _ refusal: String) throws {
        let file = FileManager.default.temporaryDirectory.appending(
            path: "commit-\(UUID().uuidString)")
        try "\(message)\n".write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let (process, errors) = (Process(), Pipe())
        process.executableURL = Repository.root.appending(path: ".githooks/commit-msg")
        process.arguments = [file.path]
        process.standardError = errors
        try process.run()
        let said = try errors.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        #expect((process.terminationStatus == 0) == refusal.isEmpty)
        #expect(refusal.isEmpty || String(decoding: said, as: UTF8.self).contains(refusal))
    }
}
