internal import Glibc
public import SignalboxCore
internal import SignalboxJSON

/// Inspects a library in a child process, so that a crash is reported and not fatal.
public enum PluginInspector {
    private static let mark = "signalbox-plugin "

    /// What a library says about itself, found by running `command` with the file as last argument.
    ///
    /// The command must call `describe`. Its process is confined as said. Blocks for at most `timeoutMs`.
    public static func inspect(
        _ file: String, command: [String], confinement: Confinement = .process,
        timeoutMs: UInt64 = 10_000
    ) -> Result<PluginDescriptor, LoadFault> {
        var plan = ConfinementPlan()
        plan.confinement = confinement
        plan.library = PluginSearchPath.absolute(file) ?? file
        return look(at: file, command: command, plan: plan, timeoutMs: timeoutMs)
            .map(\.descriptor)
    }

    /// Like `inspect`, with the schemas of the options in routes, by role.
    static func look(
        at file: String, command: [String], plan: ConfinementPlan = ConfinementPlan(),
        sha256: String? = nil, timeoutMs: UInt64 = 10_000
    ) -> Result<(descriptor: PluginDescriptor, optionsSchemas: [String: String]), LoadFault> {
        let output: ChildProcess.Output
        do throws(ChildProcess.Fault) {
            var child = ChildProcess(command + [file] + (sha256.map { [$0] } ?? []))
            child.input = plan.bytes
            child.isScrubbed = plan.has(.environment)
            output = try child.run(timeoutMs: timeoutMs)
        } catch {
            return .failure(LoadFault("plugin-not-inspected", "\(file): \(error.message)"))
        }
        guard !output.isLate else {
            return .failure(
                LoadFault(
                    "plugin-not-inspected",
                    "\(file): loading it takes over \(timeoutMs / 1000) s"))
        }
        if let signal = output.signal {
            let name = strsignal(signal).map { String(cString: $0) } ?? "unknown"
            return .failure(
                LoadFault(
                    "plugin-crashes",
                    "\(file) crashes while it is loaded (signal \(signal): \(name))"))
        }
        for line in output.text.split(separator: "\n") where line.hasPrefix(mark) {
            if let json = try? JSONValue.parse(String(line.dropFirst(mark.count))) {
                return read(json, file, plan.confinement)
            }
        }
        return .failure(
            LoadFault(
                "plugin-crashes",
                "\(file) ends the process while it is loaded (exit \(output.status))"))
    }

    /// The line that the inspecting process prints: the descriptor, or the fault.
    ///
    /// `sha256`: the required digest of the file, in hexadecimal; nil accepts any.
    public static func describe(_ file: String, sha256: String? = nil) -> String {
        do throws(LoadFault) {
            let library = try PluginLibrary.load(
                PluginSearchPath.absolute(file) ?? file, sha256: sha256)
            guard case .object(var members) = json(library.descriptor) else { return mark }
            let schemas = library.optionsSchemas.sorted { $0.key < $1.key }.map { role, schema in
                JSONValue.Member(role, .string(schema))
            }
            members.append(.init("options_schemas", .object(schemas)))
            let confinement: Confinement = Confiner.isSandbox ? .sandbox : .process
            members.append(.init("isolation", .string(confinement.rawValue)))
            return mark + JSONValue.object(members).text
        } catch {
            let members: [JSONValue.Member] = [
                .init("code", .string(error.code)), .init("message", .string(error.message)),
            ]
            return mark + JSONValue.object(members).text
        }
    }

    /// A descriptor as JSON.
    public static func json(_ descriptor: PluginDescriptor) -> JSONValue {
        let schema = descriptor.configSchema.map { (try? JSONValue.parse($0)) ?? .string($0) }
        return [
            "path": .string(descriptor.path), "id": .string(descriptor.id),
            "version": .string(descriptor.version), "summary": .string(descriptor.summary),
            "abi": .string(descriptor.abi), "needs_minor": .integer(Int64(descriptor.needsMinor)),
            "roles": .array(descriptor.roles.map(JSONValue.string)),
            "needs": .array(descriptor.needs.map(JSONValue.string)),
            "config_schema": schema ?? .null,
        ]
    }

    private static func read(
        _ json: JSONValue, _ file: String, _ confinement: Confinement
    ) -> Result<(descriptor: PluginDescriptor, optionsSchemas: [String: String]), LoadFault> {
        if let code = json["code"]?.string {
            return .failure(LoadFault(code, json["message"]?.string ?? file))
        }
        guard confinement != .sandbox || json["isolation"]?.string == confinement.rawValue else {
            return .failure(
                LoadFault(
                    "plugin-no-sandbox",
                    "\(file): the runner program has no sandbox: use a signalbox of this version"))
        }
        func texts(_ key: String) -> [String] {
            guard case .array(let items) = json[key] else { return [] }
            return items.compactMap(\.string)
        }
        let schema = json["config_schema"].flatMap { $0 == .null ? nil : $0.text }
        let descriptor = PluginDescriptor(
            path: json["path"]?.string ?? file, id: json["id"]?.string ?? "",
            version: json["version"]?.string ?? "", summary: json["summary"]?.string ?? "",
            abi: json["abi"]?.string ?? "", roles: texts("roles"), needs: texts("needs"),
            configSchema: schema,
            needsMinor: UInt32(clamping: json["needs_minor"]?.integer ?? 0))
        var schemas: [String: String] = [:]
        if case .object(let members) = json["options_schemas"] {
            for member in members { schemas[member.key] = member.value.string }
        }
        return .success((descriptor, schemas))
    }
}
