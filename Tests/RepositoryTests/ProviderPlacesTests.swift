import Foundation
import Testing

/// A provider is one folder, one line in Package.swift and fixtures: no other code knows it.
@Suite struct ProviderPlacesTests {
    /// Rooms that are about the providers of this project, or make up values.
    static let rooms: Set = [
        "SignalboxSimulators", "SignalboxDevTools", "SignalboxBench", "SignalboxConformance",
        "StoreConformance", "RustPluginKit", "CLibraries",
    ]

    /// Further files whose code names a provider, and why. The list may only become shorter.
    static let places = [
        "Sources/SignalboxCLI/DemoCommand.swift": "the demo runs simulators",
        "Sources/SignalboxCLI/InitCommand.swift": "what init writes by default",
        "Sources/SignalboxCLI/SimulateCommand.swift": "options of simulators",
        "Sources/SignalboxConfig/Keys/ConfigSection+routes.swift": "an example for users",
        "Sources/SignalboxConfig/RouteReader.swift": "an example for users",
        "Sources/SignalboxConfig/TemplateReader.swift": "an example for users",
    ]

    /// Folders under Plugins/ that are a plugin, from the function calls of Package.swift.
    static func plugins() throws -> [String] {
        try Repository.text("Package.swift").matches(of: #/\b(?:plugin|cPlugin)\("(\w+)"/#)
            .map { String($0.output.1) }
    }

    /// Also words of the gateway itself, or no provider.
    static let words: Set = ["Texts", "Webhook", "HelloC"]

    @Test func `a provider is named nowhere but in its folder`() throws {
        let plugins = try Self.plugins().filter { !Self.words.contains($0) }
        #expect(plugins.count > 15)
        let names = (plugins + ["Huawei"]).joined(separator: "|")
        // isAPNs and "apns", but no algorithms.
        let name = "(\\b(\(names.lowercased()))|\(names))(?![a-z])"
        var found: Set<String> = []
        for file in Repository.files(under: "Sources", endings: [".swift", ".c", ".h"])
        where !Self.rooms.contains(String(file.split(separator: "/")[1])) {
            for line in try Repository.text(file).split(separator: "\n") {
                // A comment may give an example.
                let code = line.trimmingCharacters(in: .whitespaces)
                guard !code.hasPrefix("//"),
                    code.range(of: name, options: .regularExpression) != nil
                else { continue }
                found.insert(file)
                #expect(Self.places[file] != nil, "\(file) names a provider: \(code)")
            }
        }
        #expect(found.sorted() == Self.places.keys.sorted())
    }

    @Test func `a plugin is one entry in the package`() throws {
        let package = try Repository.text("Package.swift")
        let plugins = try Self.plugins()
        #expect(Set(plugins).count == plugins.count)
        for plugin in plugins {
            // Plugins may share a folder of code, which is named by each of them.
            let uses = package.ranges(of: "\"\(plugin)\"").count
            #expect(uses == 1, "Package.swift names \(plugin) \(uses) times")
        }
        let shared: Set = ["BusEvents", "SendbirdPush"]
        let folders = try FileManager.default.contentsOfDirectory(
            atPath: Repository.root.appending(path: "Plugins").path)
        // CloudEvents is a crate.
        #expect(Set(folders).subtracting(shared).subtracting(["CloudEvents"]) == Set(plugins))
    }
}
