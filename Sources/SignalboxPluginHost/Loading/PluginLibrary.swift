package import CSignalbox
internal import Glibc

/// A loaded plugin library. It is never unloaded.
///
/// `@unchecked Sendable`: everything in it is set once, in `load`; the functions behind `table` are
/// called according to their thread tags.
public final class PluginLibrary: @unchecked Sendable {
    /// What the plugin says about itself.
    public let descriptor: PluginDescriptor
    /// The plugin's table at the size this host knows; missing functions are stubs.
    package let table: sbx_plugin
    /// Whether the host must not call `[worker]` functions of one instance concurrently.
    package let isSerial: Bool
    /// Signals whose handlers it changed while it was loaded; they were put back.
    let changedSignals: [Int32]

    private init(descriptor: PluginDescriptor, table: sbx_plugin, changedSignals: [Int32]) {
        self.descriptor = descriptor
        self.table = table
        self.changedSignals = changedSignals
        isSerial = table.flags & UInt64(SBX_F_SERIAL) != 0
    }

    /// The schemas of the options that routes give to its builder and its filter, by role; a role without options is
    /// missing.
    public var optionsSchemas: [String: String] {
        var out: [String: String] = [:]
        out[SBX_ROLE_BUILD] = schema(SBX_ROLE_BUILD, sbx_build.self) { $0.options_schema }
        out[SBX_ROLE_FILTER] = schema(SBX_ROLE_FILTER, sbx_filter.self) { $0.options_schema }
        return out
    }

    private func schema<Table: PluginStruct>(
        _ id: String, _ type: Table.Type, _ field: (Table) -> UnsafePointer<CChar>?
    ) -> String? {
        guard descriptor.roles.contains(id), let role = table.role(id) else { return nil }
        // A table of a wrong size is reported when an instance asks for it.
        let read = try? StructReader(minor: table.abi_minor) { _, _ in }
            .read(role.assumingMemoryBound(to: Table.self))
        return String(plugin: read.flatMap(field))
    }

    /// Loads a library and reads its table. Runs the library's code.
    ///
    /// A copy is loaded, so overwriting the file later changes nothing. Loading an unchanged file again
    /// returns the same library. `sha256`: the required digest in hexadecimal; nil accepts any.
    public static func load(
        _ path: String, sha256: String? = nil
    ) throws(LoadFault) -> PluginLibrary {
        try PluginShelf.load(path, sha256: sha256)
    }

    /// A plugin linked into the program; `entry` is its `sbx_plugin_entry_v1`.
    public static func linked(
        _ name: String, entry: UnsafeRawPointer
    ) throws(LoadFault) -> PluginLibrary {
        let image = PluginImage(path: name, entry: unsafeBitCast(entry, to: sbx_entry_fn.self))
        return try accept(try image.ask(), path: name)
    }

    /// Loads a library that is not on the shelf.
    static func load(_ file: borrowing PluginFile) throws(LoadFault) -> PluginLibrary {
        if let refusal = Confiner.refusal { throw LoadFault("plugin-no-sandbox", refusal) }
        let handlers = SignalHandlers()
        let load = CrashReport.Load(file.path)
        defer { load.end() }
        let given: UnsafePointer<sbx_plugin>
        do throws(LoadFault) {
            // A sandbox can write nothing, and a copy needs a folder.
            if Confiner.isSandbox { try file.checkDigest() }
            given =
                try
                (Confiner.isSandbox
                ? PluginImage.open(file.path) : PluginImage.open(copyOf: file)).ask()
        } catch {
            _ = handlers.restore()
            throw error
        }
        return try accept(given, path: file.path, changedSignals: handlers.restore())
    }

    /// Checks the table that an entry returned; throws if it is rejected.
    ///
    /// `alsoOffers` names services that the plugin may need although this host has none of them.
    package static func accept(
        _ given: UnsafePointer<sbx_plugin>, path: String, changedSignals: [Int32] = [],
        alsoOffers: (String) -> Bool = { _ in false }
    ) throws(LoadFault) -> PluginLibrary {
        let (major, minor) = (given.pointee.abi_major, given.pointee.abi_minor)
        guard major == SBX_ABI_MAJOR else {
            throw LoadFault(
                "plugin-other-major",
                "\(path) was compiled for contract \(major); this host speaks \(SBX_ABI_MAJOR)")
        }
        let table: sbx_plugin
        do throws(StructFault) {
            table = Tables.plugin(try StructReader(minor: minor) { _, _ in }.read(given))
        } catch {
            throw LoadFault("plugin-malformed", "\(path) \(error.words(in: "its entry"))")
        }
        guard table.needs_minor <= SBX_ABI_MINOR else {
            throw LoadFault(
                "plugin-needs-newer-host",
                "\(path) needs contract 1.\(table.needs_minor); this host has "
                    + "1.\(SBX_ABI_MINOR): update signalbox")
        }
        let unknown = table.flags & ~UInt64(SBX_F_SERIAL)
        guard unknown == 0 else {
            throw LoadFault(
                "plugin-unknown-flag",
                "\(path) sets flag 0x\(String(unknown, radix: 16)), which this host does not know: "
                    + "update signalbox")
        }
        guard let id = String(plugin: table.id), !id.isEmpty else {
            throw LoadFault("plugin-malformed", "\(path) gives no id")
        }
        let roles = list(table.roles)
        guard !roles.isEmpty else {
            throw LoadFault("plugin-malformed", "\(path) names no role")
        }
        let needs = list(table.needs)
        for service in needs where !Services.isOffered(service) && !alsoOffers(service) {
            throw LoadFault(
                "plugin-needs-service",
                "\(path) needs the service \(service), which this host does not offer")
        }
        return PluginLibrary(
            descriptor: PluginDescriptor(
                path: path, id: id, version: String(plugin: table.version) ?? "",
                summary: String(plugin: table.summary) ?? "",
                abi: "\(table.abi_major).\(table.abi_minor)", roles: roles, needs: needs,
                configSchema: String(plugin: table.config_schema),
                needsMinor: UInt32(table.needs_minor)), table: table,
            changedSignals: changedSignals)
    }

    private static func list(
        _ start: UnsafePointer<UnsafePointer<CChar>?>?
    ) -> [String] {
        guard let start else { return [] }
        var out: [String] = []
        // A list without an end must not be read forever.
        while out.count < 64, let text = String(plugin: start[out.count]) { out.append(text) }
        return out
    }
}
