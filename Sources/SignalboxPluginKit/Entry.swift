public import CSignalbox
internal import Synchronization

/// The body of a plugin's one exported function:
///
/// ```swift
/// @c @implementation
/// public func sbx_plugin_entry_v1(
///     _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
/// ) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(MyPlugin.self) }
/// ```
public func pluginEntry(_ type: any Plugin.Type) -> UnsafePointer<sbx_plugin>? {
    Library.shared.withLock { known in
        if let known { return known.table }
        let made = Library(type)
        known = made
        return made.table
    }
}

/// The library's tables, made once and never freed, because a library is never unloaded.
///
/// `@unchecked Sendable`: nothing is written after `init`.
final class Library: @unchecked Sendable {
    static let shared = Mutex<Library?>(nil)

    let type: any Plugin.Type
    let table: UnsafePointer<sbx_plugin>
    private let roles: [Role]
    private let arena = Arena()

    init(_ type: any Plugin.Type) {
        self.type = type
        let arena = arena
        func text(_ text: String) -> UnsafePointer<CChar> {
            let bytes = arena.bytes(Array(text.utf8) + [0])
            guard let start = bytes.ptr else { preconditionFailure("the text has a NUL at least") }
            return start
        }
        func list(_ texts: [String]) -> UnsafePointer<UnsafePointer<CChar>?> {
            let room = arena.array(UnsafePointer<CChar>?.self, texts.count + 1)
            for (index, given) in texts.enumerated() { room[index] = text(given) }
            return UnsafePointer(room)
        }
        roles = Self.roles(of: type, arena, text)
        let needs = [SBX_SVC_JSON, SBX_SVC_CLOCK] + type.info.needs + roles.compactMap(\.needs)
        var plugin = Self.head(type.info)
        plugin.id = text(type.info.id)
        plugin.version = text(type.info.version)
        plugin.summary = text(type.info.summary)
        plugin.roles = list(roles.map(\.id))
        plugin.needs = list(needs)
        plugin.config_schema = type.info.configSchema.map(text)
        table = arena.constant(plugin)
    }

    /// The table of a role that the plugin has.
    func role(_ id: String) -> UnsafeRawPointer? { roles.first { $0.id == id }?.table }

    private static func head(_ info: PluginInfo) -> sbx_plugin {
        var plugin = sbx_plugin()
        plugin.abi_major = SBX_ABI_MAJOR
        plugin.abi_minor = SBX_ABI_MINOR
        plugin.needs_minor = info.needsMinor
        plugin.flags = info.isSerial ? SBX_F_SERIAL : 0
        Lifecycle.fill(&plugin)
        return plugin
    }

    /// A role's id, its table, and the service that it requires.
    private struct Role {
        var id: String
        var table: UnsafeRawPointer
        var needs: String?
    }

    private static func roles(
        of type: any Plugin.Type, _ arena: Arena, _ text: (String) -> UnsafePointer<CChar>
    ) -> [Role] {
        var roles: [Role] = []
        func add<Table: BitwiseCopyable>(_ id: String, _ table: Table, needs: String? = nil) {
            roles.append(
                Role(id: id, table: UnsafeRawPointer(arena.constant(table)), needs: needs))
        }
        if type is any IngestPlugin.Type { add(SBX_ROLE_INGEST, IngestCalls.table) }
        if let type = type as? any BuildPlugin.Type {
            var table = BuildCalls.table
            table.options_schema = type.optionsSchema.map(text)
            add(SBX_ROLE_BUILD, table)
        }
        if let type = type as? any SendHTTPPlugin.Type {
            var table = SendHTTPCalls.table
            table.max_batch = UInt32(clamping: type.maxBatch)
            add(SBX_ROLE_SEND_HTTP, table)
        }
        if let type = type as? any SendPlugin.Type {
            var table = SendCalls.table
            table.max_batch = UInt32(clamping: type.maxBatch)
            add(SBX_ROLE_SEND, table, needs: SBX_SVC_SEND_HOST)
        }
        if let type = type as? any RegisterPlugin.Type {
            var table = RegisterCalls.table
            table.max_batch = UInt32(clamping: type.maxChanges)
            table.kinds = type.changeKinds.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
            add(SBX_ROLE_REGISTER, table)
        }
        if type is any SourcePlugin.Type {
            add(SBX_ROLE_SOURCE, SourceCalls.table, needs: SBX_SVC_SOURCE_HOST)
        }
        if let type = type as? any ObservePlugin.Type {
            var table = ObserveCalls.table
            table.max_batch = UInt32(clamping: type.maxObservations)
            add(SBX_ROLE_OBSERVE, table, needs: SBX_SVC_OBSERVE_HOST)
        }
        if let type = type as? any FilterPlugin.Type {
            var table = FilterCalls.table
            table.options_schema = type.filterOptionsSchema.map(text)
            add(SBX_ROLE_FILTER, table)
        }
        return roles
    }
}

/// The functions of `sbx_plugin`.
enum Lifecycle {
    static func fill(_ plugin: inout sbx_plugin) {
        plugin.create = { host, config, instance, error in
            guard let host, let instance, let type = Library.shared.withLock({ $0?.type }) else {
                return SBX_E_INTERNAL
            }
            let kit = Host(host)
            return reporting(to: error) { () throws(PluginError) in
                let made = try type.init(host: kit, config: try kit.parse(config))
                let box = InstanceBox(plugin: made, host: kit)
                instance.pointee = OpaquePointer(Unmanaged.passRetained(box).toOpaque())
            }
        }
        plugin.role = { id in
            guard let id else { return nil }
            return Library.shared.withLock { $0 }?.role(String(cString: id))
        }
        plugin.start = { instance, error in
            guard let box = InstanceBox.from(instance) else { return SBX_E_INTERNAL }
            return reporting(to: error) { () throws(PluginError) in
                try box.plugin.start()
            }
        }
        plugin.stop = { instance, _, _ in
            InstanceBox.from(instance)?.plugin.stop()
            return SBX_OK
        }
        plugin.destroy = { instance in
            guard let instance else { return }
            let box = Unmanaged<InstanceBox>.fromOpaque(UnsafeRawPointer(instance))
            box.takeUnretainedValue().host.forget()
            box.release()
        }
    }
}
