import Foundation
import Testing

/// Rules for every file of the project.
@Suite struct TextTests {
    static let sources =
        Repository.files(under: "Sources", endings: [".swift", ".h", ".cpp", ".rs"])
        + Repository.files(under: "Plugins", endings: [".swift", ".c", ".h", ".rs"])
        + Repository.files(under: "include", endings: [".h"])

    @Test func `no file is longer than 500 lines`() throws {
        for file in Self.sources {
            let lines = try Repository.text(file).split(
                separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 500, "\(file) has \(lines.count) lines")
        }
    }

    @Test func `nothing is left unfinished`() throws {
        // Put together here so that this file does not find itself.
        let marks = ["TO" + "DO", "FIX" + "ME", "fatal" + "Error(", "try" + "! ", "X" + "XX"]
        for file in Self.sources {
            let text = try Repository.text(file)
            for mark in marks { #expect(!text.contains(mark), "\(file) contains \(mark)") }
        }
    }

    @Test func `an error that other modules see says its message where it is interpolated`() throws
    {
        let error = #/(?:public|package) struct (\w+): ((?:[\w.]+, )*Error\b[^{]*)\{/#
        var count = 0
        for file in Self.sources {
            for match in try Repository.text(file).matches(of: error) {
                count += 1
                #expect(
                    match.output.2.contains("CustomStringConvertible"), "\(file): \(match.output.1)"
                )
            }
        }
        #expect(count > 10)
    }

    @Test func `the README names both set-up commands`() throws {
        let readme = try Repository.text("README.md")
        #expect(readme.contains("make run"))
        #expect(readme.contains("make test"))
    }

    @Test func `the plugin that the walk shows is the one that is built`() throws {
        let page = try Repository.text("docs/writing-a-plugin.md")
        let fence = try #require(page.firstMatch(of: #/```c\n([\s\S]+?)```/#))
        #expect(try Repository.text("Plugins/HelloC/hello.c").contains(fence.output.1))
    }

    @Test func `links between documents lead somewhere`() throws {
        let documents =
            ["README.md", "ARCHITECTURE.md", "CHANGELOG.md"]
            + Repository.files(under: "docs", endings: [".md"])
            + Repository.files(under: "Plugins", endings: [".md"])
        let link = try Regex("\\]\\(([^)#:]+)(#[^)]*)?\\)")
        for document in documents {
            let folder = Repository.root.appending(path: document).deletingLastPathComponent()
            for match in try Repository.text(document).matches(of: link) {
                guard let target = match.output[1].substring else { continue }
                let path = folder.appending(path: String(target)).path
                #expect(FileManager.default.fileExists(atPath: path), "\(document): \(target)")
            }
        }
    }
}
