internal import SignalboxCore
package import SignalboxGateway
internal import SignalboxPluginHost

/// Describes plugin libraries, for people and for scripts.
package struct PluginTool: Sendable {
    /// The description of one library.
    package struct Finding: Sendable {
        /// The file.
        package let file: String
        /// Lines for people.
        package let lines: [String]
        /// One line of JSON for scripts.
        package let json: String
        /// Why it is unusable; nil if it is usable.
        package let fault: String?
    }

    private let searchPath: PluginSearchPath
    private let command: [String]
    private let confinement: Confinement

    /// `command` runs this program so that it calls `describe` with its last argument. A library runs in a sandbox,
    /// since its inspector may not trust it yet; with `isTrusted` it has all rights of the caller.
    package init(
        folders: [String], options: GatewayOptions, command: [String], isTrusted: Bool = false
    ) {
        searchPath = PluginSearchPath(folders: folders + options.searchPath.folders)
        self.command = command
        confinement = isTrusted ? .process : .sandbox
    }

    private func look(at file: String) -> Result<PluginDescriptor, LoadFault> {
        PluginInspector.inspect(file, command: command, confinement: confinement).mapError {
            fault in
            guard fault.code == "plugin-no-sandbox" else { return fault }
            return LoadFault(
                fault.code,
                "\(file): it is looked at in a sandbox, which this kernel or container does not offer; add --trust "
                    + "if you trust it")
        }
    }

    /// All plugins in the plugin folders.
    package func list() -> [Finding] {
        searchPath.candidates.compactMap { file in
            let found = look(at: file)
            if case .failure(let fault) = found, fault.code == "plugin-no-entry" { return nil }
            return Self.finding(file, found)
        }
    }

    /// One library, by name or by path.
    package func inspect(_ library: String) -> Finding {
        do throws(LoadFault) {
            let isPath = library.contains("/") || library.hasSuffix(".so")
            let file = isPath ? library : try searchPath.resolve(library, relativeTo: ".")
            let found = look(at: file)
            return Self.finding(file, found, sha256: FileDigest.sha256(of: file))
        } catch {
            return Self.finding(library, .failure(error))
        }
    }

    /// The JSON Schema of gateway.yaml, with the configs of the plugins in the plugin folders.
    package func schema() -> String {
        var schema = EditorSchema()
        for file in searchPath.candidates {
            guard case .success(let plugin) = look(at: file)
            else { continue }
            let name = file.split(separator: "/").last.map(String.init) ?? file
            schema.add(
                library: String(name.dropFirst("lib".count).dropLast(".so".count)),
                schema: plugin.configSchema ?? #"{"type":"object"}"#)
        }
        return schema.json.text
    }

    /// Confines this process as the gateway that started it demands. Call it first in a program that runs or describes
    /// plugins for a gateway.
    package static func confine() { Confiner.enter() }

    /// Runs an isolated plugin in this process until its gateway ends.
    package static func runIsolated() async { await IsolatedRunner.run() }

    /// The line that the inspecting process prints. The calling thread can start no process afterwards.
    package static func describe(_ file: String, sha256: String? = nil) -> String {
        Confiner.forbidProcesses()
        return PluginInspector.describe(file, sha256: sha256)
    }

    private static func finding(
        _ file: String, _ found: Result<PluginDescriptor, LoadFault>, sha256: String? = nil
    ) -> Finding {
        switch found {
        case .failure(let fault):
            let json: JSONValue = [
                "path": .string(file), "code": .string(fault.code),
                "message": .string(fault.message),
            ]
            return Finding(
                file: file, lines: ["\(fault.code): \(fault.message)"], json: json.text,
                fault: fault.message)
        case .success(let plugin):
            var lines = [
                "\(plugin.id) \(plugin.version) - \(plugin.summary)", "  file   \(plugin.path)",
                "  abi    \(plugin.abi), runs on 1.\(plugin.needsMinor) and later",
                "  roles  \(plugin.roles.joined(separator: ", "))",
            ]
            if !plugin.needs.isEmpty {
                lines.append("  needs  \(plugin.needs.joined(separator: ", "))")
            }
            var json = PluginInspector.json(plugin)
            if let sha256 {
                lines.append("  sha256 \(sha256)")
                json = json.merging(["sha256": .string(sha256)])
            }
            return Finding(file: file, lines: lines, json: json.text, fault: nil)
        }
    }
}
