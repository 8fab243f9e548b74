import Foundation
import PluginRig
import Testing

/// The symbols that the built libraries export.
@Suite struct ExportTests {
    /// The list `plugins` of Package.swift.
    static let plugins: [String] = {
        let manifest = PluginRig.root.appending(path: "Package.swift")
        let text = (try? String(contentsOf: manifest, encoding: .utf8)) ?? ""
        return text.matches(of: /[pP]lugin\("([A-Za-z0-9]+)"/).map { String($0.output.1) }
    }()

    /// Code that several plugins of one provider link in, not a plugin itself.
    static let shared = ["BusEvents", "SendbirdPush"]

    /// The plugins that cargo builds.
    static let rust: [String] = {
        let folder = PluginRig.root.appending(path: "Plugins")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter {
            FileManager.default.fileExists(atPath: folder.appending(path: "\($0)/Cargo.toml").path)
        }
    }()

    @Test(arguments: plugins + rust)
    func `a bundled plugin exports one symbol`(name: String) async throws {
        if Self.rust.contains(name) { try await RustRig.plugins() }
        #expect(try await symbols(of: name) == ["sbx_plugin_entry_v1"])
    }

    /// The symbols that a built library defines for others, sorted.
    private func symbols(of name: String) async throws -> [String] {
        let file = try PluginRig.bundled(name)
        let output = try await Tool.output(["nm", "-D", "--extern-only", "--defined-only", file])
        return output.split(separator: "\n").compactMap {
            $0.split(separator: " ").last.map { String($0) }
        }.sorted()
    }

    /// Dynamic libraries that are not plugins, each with the file that lists its symbols.
    static let libraries = ["SignalboxLibrary": "libsignalbox-symbols.txt"]

    @Test(arguments: libraries.keys.sorted())
    func `a library exports what is listed, and that is what the headers declare`(name: String)
        async throws
    {
        let list = try #require(Self.libraries[name])
        let file = PluginRig.root.appending(path: "Tests/ContractTests/\(list)")
        let listed = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            String($0)
        }
        #expect(try await symbols(of: name) == listed)
        let declared = try await Layout.of(.current).facts("function").compactMap { line in
            line.firstMatch(of: /^- .*?[ *](sbx_[a-z0-9_]+)\(/).map { String($0.output.1) }
        }
        #expect(declared.filter { $0 != "sbx_plugin_entry_v1" }.sorted() == listed)
    }

    @Test func `every dynamic library of the package is checked`() async throws {
        let manifest = try String(
            contentsOf: PluginRig.root.appending(path: "Package.swift"), encoding: .utf8)
        let names = manifest.matches(of: /\.library\(\s*name: "([A-Za-z0-9]+)",\s*type: \.dynamic/)
        #expect(Set(names.map { String($0.output.1) }) == Set(Self.libraries.keys))
    }

    @Test func `every folder of a plugin is in a list`() throws {
        let folder = PluginRig.root.appending(path: "Plugins")
        let folders = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(folders) == Set(Self.plugins + Self.rust + Self.shared))
        #expect(Self.plugins.count >= 11)
    }
}
