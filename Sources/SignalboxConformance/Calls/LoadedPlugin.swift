internal import CSignalbox
internal import SignalboxPluginHost

/// A plugin that is loaded into this process.
struct LoadedPlugin {
    let given: UnsafePointer<sbx_plugin>
    let library: PluginLibrary

    func has(_ role: String) -> Bool { library.descriptor.roles.contains(role) }

    /// The table of a role; nil if there is no usable one.
    func role<Table: PluginStruct>(_ id: String, _ type: Table.Type) -> Table? {
        guard has(id), let raw = id.withCString({ library.table.role($0) }) else { return nil }
        // The step that checks the tables reports what is wrong with them.
        return try? StructReader(minor: library.table.abi_minor) { _, _ in }
            .read(raw.assumingMemoryBound(to: Table.self))
    }
}
