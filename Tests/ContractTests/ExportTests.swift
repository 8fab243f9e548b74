import Foundation
import PluginBench
import Testing

/// What the built libraries show to the outside.
@Suite struct ExportTests {
    /// The list `plugins` of Package.swift.
    static let plugins: [String] = {
        let manifest = PluginBench.root.appending(path: "Package.swift")
        let text = (try? String(contentsOf: manifest, encoding: .utf8)) ?? ""
        return text.matches(of: /plugin\("([A-Za-z0-9]+)"\)/).map { String($0.output.1) }
    }()

    @Test(arguments: plugins)
    func `a bundled plugin exports one symbol`(name: String) throws {
        #expect(try symbols(of: name) == ["sbx_plugin_entry_v1"])
    }

    /// What a built library defines for others, sorted.
    private func symbols(of name: String) throws -> [String] {
        let file = try PluginBench.bundled(name)
        let output = try Tool.output(["nm", "-D", "--extern-only", "--defined-only", file])
        return output.split(separator: "\n").compactMap {
            $0.split(separator: " ").last.map { String($0) }
        }.sorted()
    }

    /// Other libraries export what stands in Tests/ContractTests/libNAME-symbols.txt.
    @Test func `every other dynamic library has a list of its symbols`() throws {
        let manifest = try String(
            contentsOf: PluginBench.root.appending(path: "Package.swift"), encoding: .utf8)
        let names = manifest.matches(of: /\.library\(\s*name: "([A-Za-z0-9]+)",\s*type: \.dynamic/)
        for name in names.map({ String($0.output.1) }) {
            let list = "Tests/ContractTests/lib\(name)-symbols.txt"
            let path = PluginBench.root.appending(path: list)
            let listed = try? String(contentsOf: path, encoding: .utf8)
            #expect(
                try listed == symbols(of: name).map { "\($0)\n" }.joined(),
                "lib\(name).so must export exactly what \(list) lists, one a line, sorted")
        }
    }

    @Test func `every plugin in Swift is in the list`() throws {
        let folder = PluginBench.root.appending(path: "Plugins")
        let folders = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter {
            FileManager.default.fileExists(
                atPath: folder.appending(path: "\($0)/Plugin.swift").path)
        }
        #expect(Set(folders) == Set(Self.plugins))
        #expect(Self.plugins.count >= 8)
    }
}
