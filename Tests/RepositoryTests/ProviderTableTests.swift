import Testing

/// docs/providers.md and docs/threat-model.md: every test and golden case that they name exists.
@Suite struct ProviderTableTests {
    @Test(arguments: [("docs/providers.md", 60), ("docs/threat-model.md", 20)])
    func `every test named in a table is in its suite`(page: String, atLeast: Int) throws {
        let tests = Repository.files(under: "Tests", endings: [".swift"])
        var texts: [String: String] = [:]
        for file in tests {
            let text = try Repository.text(file)
            for part in text.split(separator: "struct ").dropFirst() {
                let suite = String(part.prefix { $0.isLetter || $0.isNumber })
                texts[suite, default: ""] += text
            }
        }
        // FILE: `case` names a case of Tests/Fixtures/Plugins/FILE.
        let golden = "Tests/Fixtures/Plugins"
        for file in Repository.files(under: golden, endings: [".yaml"]) {
            let names = try Repository.text(file).split(separator: "\n").compactMap { line in
                line.hasPrefix("  - name: ") ? "`\(line.dropFirst(10))`" : nil
            }
            texts[String(file.dropFirst(golden.count + 1))] = names.joined(separator: "\n")
        }
        var count = 0
        for line in try Repository.text(page).split(separator: "\n")
        where line.hasPrefix("| ") && !line.hasPrefix("| feature") && !line.hasPrefix("| ---") {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count >= 4 else { continue }
            var suite = ""
            // SUITE: `name`, `name`; FILE: `name`
            let parts = cells[cells.count - 2].split(
                separator: "`", omittingEmptySubsequences: false)
            for (index, part) in parts.enumerated() {
                if index % 2 == 0 {
                    let words = part.split { $0 == " " || $0 == ":" || $0 == ";" || $0 == "," }
                    if part.contains(":"), let name = words.first { suite = String(name) }
                    continue
                }
                count += 1
                let known = texts[suite] ?? ""
                // A name may start on the line after `func`, but is never broken itself.
                let isThere = known.contains("`\(part)`")
                #expect(isThere, "\(suite) has no test `\(part)`")
            }
        }
        #expect(count > atLeast)
    }
}
