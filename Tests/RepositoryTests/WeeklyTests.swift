import Foundation
import Testing

/// What nobody runs rots: bench and fuzz targets did.
@Suite struct WeeklyTests {
    /// They wait for somebody, change files, or are steps of others.
    private static let others: Set = ["run", "format", "clean", "setup"]

    private static func words(_ text: Substring) -> Set<String> {
        Set(text.split { $0 == " " || $0 == "\n" || $0 == "\\" }.map { String($0) })
    }

    @Test func `every target of the Makefile runs at least weekly`() throws {
        let line = try #require(
            try Repository.text("Makefile").firstMatch(of: #/\.PHONY: (.*)/#)?.output.1)
        let script = try Repository.text("scripts/weekly.sh")
        let list = try #require(script.firstMatch(of: #/targets=\(([^)]*)\)/#)?.output.1)
        #expect(Self.words(list).union(Self.others) == Self.words(line))
        #expect(try Repository.text("CONTRIBUTING.md").contains("(scripts/weekly.sh)"))
        #expect(try Repository.text(".ci/weekly").contains("scripts/weekly.sh"))
    }

    @Test func `make test runs small versions of bench, chaos-host and fuzz`() throws {
        #expect(try Repository.text("Makefile").contains("\n\t@scripts/small.sh\n"))
        let script = try Repository.text("scripts/small.sh")
        for part in ["bench", "chaos", "fuzz"] { #expect(script.contains("\nsmall_\(part)() {\n")) }
    }

    @Test func `Package.resolved names a version of each package, and nothing of one machine`()
        throws
    {
        let text = try Repository.text("Package.resolved")
        let pins = text.matches(of: #/"location" : "(.*)"/#).map { String($0.output.1) }
        #expect(pins.count == text.matches(of: #/"version" : "\d+\.\d+\.\d+"/#).count)
        #expect(pins.allSatisfy { $0.hasPrefix("https://github.com/") })
        for match in try Repository.text("Package.swift").matches(of: #/\.package\(url: "([^"]*)"/#)
        {
            #expect(pins.contains(String(match.output.1)), "\(match.output.1)")
        }
    }
}
