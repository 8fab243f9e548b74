import Foundation
import PluginRig
import Testing

/// The frozen copies of released contracts.
@Suite struct ReleaseTests {
    /// Describes differences between headers and the frozen copies in a folder.
    static func complaints(_ headers: Headers, releases: URL) throws -> [String] {
        let version = try headers.version()
        let frozen = Headers(folder: releases.appending(path: "\(version)/include"))
        guard FileManager.default.fileExists(atPath: frozen.folder.path) else {
            return [
                "contract \(version) has no frozen copy: run scripts/abi/freeze.sh \(version)"
            ]
        }
        let (now, then) = try (headers.files(ending: ""), frozen.files(ending: ""))
        var differing = Set(now).symmetricDifference(then)
        for file in Set(now).intersection(then) {
            let content = [headers, frozen].map {
                FileManager.default.contents(atPath: $0.folder.appending(path: file).path)
            }
            if content[0] != content[1] { differing.insert(file) }
        }
        if differing.isEmpty { return [] }
        return [
            "contract \(version) changed: until it is tagged run scripts/abi/freeze.sh \(version); "
                + "afterwards raise SBX_ABI_MINOR. Files: "
                + differing.sorted().joined(separator: ", ")
        ]
    }

    @Test func `the headers are those of their version`() async throws {
        let complaints = try Self.complaints(.current, releases: Releases.folder)
        #expect(complaints.isEmpty, "\(complaints.joined(separator: "\n"))")
    }

    @Test func `a changed header is named, with what to do`() async throws {
        let changed = try Headers.current.copy()
        try changed.append("  uint64_t more;", to: "sbx_delivery")
        let words = try #require(try Self.complaints(changed, releases: Releases.folder).first)
        let version = try changed.version()
        #expect(words.contains("contract \(version) changed: until it is tagged run"))
        #expect(words.contains("scripts/abi/freeze.sh \(version)"))
        #expect(words.hasSuffix("Files: signalbox/model.h"))
        let next = try await Self.complaints(Headers.next.value, releases: Releases.folder)
        #expect(next.first?.contains("has no frozen copy: run scripts/abi/freeze.sh") == true)
    }

    @Test(arguments: Releases.versions)
    func `the layout of a release is that of its headers`(version: String) async throws {
        let made = try await Layout.of(Releases.headers(version))
        #expect(try Releases.layout(version).lines == made.lines)
        #expect(try Releases.headers(version).version() == version)
    }

    @Test func `freezing writes the folder, and refuses what is not this version or tagged`()
        async throws
    {
        let root = try Workshop.folder("repository")
        for name in ["include", "scripts"] {
            try FileManager.default.copyItem(
                at: PluginRig.root.appending(path: name), to: root.appending(path: name))
        }
        let version = try Headers.current.version()
        let script = root.appending(path: "scripts/abi/freeze.sh").path
        let other = try await Tool.run([script, "9.9"])
        #expect(other.status == 1)
        #expect(other.errors.contains("include/ is contract \(version), not 9.9"))
        _ = try await Tool.output([script, version])
        let releases = root.appending(path: "Tests/ContractTests/Releases")
        let current = Headers(folder: root.appending(path: "include"))
        #expect(try Self.complaints(current, releases: releases) == [])
        let layout = releases.appending(path: "\(version)/layout.txt")
        let made = try await Tool.output(["scripts/abi/layout.sh"])
        #expect(try String(contentsOf: layout, encoding: .utf8) == made)
        // Once there is a tag, the folder never changes.
        for words in [
            ["init", "--quiet"],
            [
                "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "--quiet",
                "--allow-empty", "-m", "t",
            ],
            ["tag", "contract-\(version)"],
        ] { _ = try await Tool.output(["git", "-C", root.path] + words) }
        let late = try await Tool.run([script, version])
        #expect(late.status == 1)
        #expect(late.errors.contains("tagged (contract-\(version)) and stays as it is"))
    }
}
