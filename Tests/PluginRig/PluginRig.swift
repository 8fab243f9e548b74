import Foundation
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Synchronization

/// Plugins for tests: the bundled ones as built, and small ones compiled from C.
package enum PluginRig {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        package init(description: String) { self.description = description }
    }

    package static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The file of a bundled plugin, in the folder of the test program.
    package static func bundled(_ name: String) throws -> String {
        var folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
        while folder.path != "/" {
            folder.deleteLastPathComponent()
            let file = folder.appending(path: "lib\(name).so").path
            if FileManager.default.fileExists(atPath: file) { return file }
        }
        throw Failure(description: "lib\(name).so was not built")
    }

    /// The program that runs isolated plugins, in the folder of the test program.
    package static func runner() throws -> [String] {
        let folder = URL(filePath: try bundled("APNs")).deletingLastPathComponent()
        return [folder.appending(path: "signalbox").path]
    }

    /// Makes a started instance of a library in its own process.
    package static func isolated(
        _ library: String, config: JSONValue = .object([]), secrets: [String: [UInt8]] = [:],
        name: String = "test", sha256: String? = nil, services: RigServices,
        confinement: Confinement = .process, files: [String] = [],
        change: (inout IsolationOptions) -> Void = { _ in }
    ) async throws -> IsolatedInstance {
        var options = IsolationOptions()
        options.runner = try runner()
        change(&options)
        let given = ConfigValue(
            .null, at: SourcePosition(file: "test.yaml", line: 1, column: 1))
        let code = try IsolatedLibrary.inspect(
            library, confinement: confinement, options: options, sha256: sha256)
        var checked = CheckedConfig(
            json: config, secrets: secrets.mapValues { PluginSecret(bytes: $0) })
        checked.files = files.map { NamedFile(key: "config.file", path: $0, value: given) }
        let instance = try await IsolatedInstance.create(
            name: name, library: code.descriptor, config: checked, version: "test",
            confinement: confinement, options: options, services: services)
        do {
            try await instance.start()
        } catch {
            _ = await instance.stop(deadlineMs: 1_000)
            throw error
        }
        return instance
    }

    /// Compiles C into a plugin library in its own folder.
    package static func compile(_ source: String) async throws -> String {
        let folder = try Workshop.folder()
        let file = folder.appending(path: "plugin.c")
        try source.write(to: file, atomically: true, encoding: .utf8)
        return try await compile(file: file.path, to: folder.appending(path: "libplugin.so").path)
    }

    /// Compiles a C fixture into a plugin library in its own folder.
    package static func compileFixture(_ path: String) async throws -> String {
        let folder = try Workshop.folder()
        return try await compile(
            file: root.appending(path: "Tests/Fixtures/\(path)").path,
            to: folder.appending(path: "libplugin.so").path)
    }

    /// Compiles a C file into a plugin library.
    package static func compile(
        file: String, to library: String, flags: [String] = []
    ) async throws -> String {
        let compiled = try await Tool.run(
            [
                "cc", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I",
                root.appending(path: "include").path, "-o", library, file,
            ] + flags)
        guard compiled.status == 0 else { throw Failure(description: compiled.text) }
        return library
    }

    /// Loads a library and makes a started instance of it.
    package static func instance(
        of library: String, config: JSONValue = .object([]),
        secrets: [String: [UInt8]] = [:], name: String = "test", services: RigServices
    ) async throws -> PluginInstance {
        let instance = try await PluginInstance.create(
            name: name, library: try PluginLibrary.load(library),
            config: CheckedConfig(
                json: config, secrets: secrets.mapValues { PluginSecret(bytes: $0) }),
            version: "test", services: services)
        try await instance.start()
        return instance
    }

    /// The config of a plugin, checked against its schema, with defaults filled in.
    package static func checked(
        _ config: ConfigValue, library: String
    ) throws -> (config: CheckedConfig, diagnostics: [Diagnostic]) {
        let descriptor = try PluginLibrary.load(library).descriptor
        let schema = try descriptor.configSchema.map { try ConfigSchema.parse($0) } ?? .empty
        return schema.check(config, at: config.position, owner: "plugin \"test\"")
    }

    /// JSON text as a config value, with secrets in place of the marks.
    package static func config(_ json: String) throws -> ConfigValue {
        ConfigValue(
            try JSONValue.parse(json), at: SourcePosition(file: "test.yaml", line: 1, column: 1))
    }

    /// Replaces `${file:NAME}` with files of a folder, as for a configuration.
    private static func fill(_ value: inout ConfigValue, from folder: String) {
        switch value.kind {
        case .string(let text) where text.hasPrefix("${file:"):
            let path = "\(folder)/\(text.dropFirst(7).dropLast())"
            let bytes = FileManager.default.contents(atPath: path).map { Array($0) } ?? []
            value.kind = .string(String(decoding: bytes, as: UTF8.self))
            value.isSecret = true
            value.secretFile = path
            if String(validating: bytes, as: UTF8.self) == nil { value.secretBytes = bytes }
        case .list(var items):
            for index in items.indices { fill(&items[index], from: folder) }
            value.kind = .list(items)
        case .map(var entries):
            for index in entries.indices { fill(&entries[index].value, from: folder) }
            value.kind = .map(entries)
        default: break
        }
    }

    /// A started instance of a bundled plugin with a config as in gateway.yaml.
    package static func bundledInstance(
        _ name: String, config: String, files: String? = nil, services: RigServices
    ) async throws -> PluginInstance {
        let library = try bundled(name)
        var given = try Self.config(config)
        if let files { fill(&given, from: files) }
        let (checked, diagnostics) = try checked(given, library: library)
        guard diagnostics.isEmpty else {
            throw Failure(description: "\(diagnostics.map(\.description))")
        }
        let instance = try await PluginInstance.create(
            name: name.lowercased(), library: try PluginLibrary.load(library), config: checked,
            version: "test", services: services)
        try await instance.start()
        return instance
    }
}

/// Waits for one value from a callback.
package final class Once<Value: Sendable>: Sendable {
    private let stream: AsyncStream<Value>
    private let found: AsyncStream<Value>.Continuation

    package init() { (stream, found) = AsyncStream.makeStream(of: Value.self) }

    package func set(_ value: Value) {
        found.yield(value)
        found.finish()
    }

    package func value() async -> Value? { await stream.first { _ in true } }
}
