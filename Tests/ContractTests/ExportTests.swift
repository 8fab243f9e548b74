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
        let file = try PluginBench.bundled(name)
        let output = try Tool.output(["nm", "-D", "--extern-only", "--defined-only", file])
        let symbols = output.split(separator: "\n").compactMap { $0.split(separator: " ").last }
        #expect(symbols == ["sbx_plugin_entry_v1"])
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
