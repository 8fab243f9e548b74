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
    let ingest: UnsafePointer<sbx_ingest>
    let build: UnsafePointer<sbx_build>
    let sendHTTP: UnsafePointer<sbx_send_http>
    let register: UnsafePointer<sbx_register>
    let send: UnsafePointer<sbx_send>
    let source: UnsafePointer<sbx_source>
    let observe: UnsafePointer<sbx_observe>
    let filter: UnsafePointer<sbx_filter>
    private let arena = Arena()

    init(_ type: any Plugin.Type) {
        self.type = type
        let arena = arena
        func text(_ text: String) -> UnsafePointer<CChar> {
            let bytes = arena.bytes(Array(text.utf8) + [0])
            guard let start = bytes.ptr else { preconditionFailure("the text has a NUL at least") }
            return start
        }
        func constant<Table: BitwiseCopyable>(_ value: Table) -> UnsafePointer<Table> {
            let room = arena.array(Table.self, 1)
            room.pointee = value
            return UnsafePointer(room)
        }
        func list(_ texts: [String]) -> UnsafePointer<UnsafePointer<CChar>?> {
            let room = arena.array(UnsafePointer<CChar>?.self, texts.count + 1)
            for (index, given) in texts.enumerated() { room[index] = text(given) }
            return UnsafePointer(room)
        }
        var plugin = Self.head(type.info)
        plugin.id = text(type.info.id)
        plugin.version = text(type.info.version)
        plugin.summary = text(type.info.summary)
        plugin.roles = list(Self.roles(of: type))
        plugin.needs = list(Self.needs(of: type))
        plugin.config_schema = type.info.configSchema.map(text)
        table = constant(plugin)
        ingest = constant(IngestCalls.table)
        var builder = BuildCalls.table
        builder.options_schema = (type as? any BuildPlugin.Type)?.optionsSchema.map(text)
        build = constant(builder)
        var sender = SendHTTPCalls.table
        sender.max_batch = UInt32(clamping: (type as? any SendHTTPPlugin.Type)?.maxBatch ?? 0)
        sendHTTP = constant(sender)
        var reports = RegisterCalls.table
        if let type = type as? any RegisterPlugin.Type {
            reports.max_batch = UInt32(clamping: type.maxChanges)
            reports.kinds = type.changeKinds.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
        }
        register = constant(reports)
        var own = SendCalls.table
        own.max_batch = UInt32(clamping: (type as? any SendPlugin.Type)?.maxBatch ?? 0)
        send = constant(own)
        source = constant(SourceCalls.table)
        var observer = ObserveCalls.table
        observer.max_batch = UInt32(
            clamping: (type as? any ObservePlugin.Type)?.maxObservations ?? 0)
        observe = constant(observer)
        var filters = FilterCalls.table
        filters.options_schema = (type as? any FilterPlugin.Type)?.filterOptionsSchema.map(text)
        filter = constant(filters)
    }

    private static func head(_ info: PluginInfo) -> sbx_plugin {
        var plugin = sbx_plugin()
        plugin.struct_size = UInt32(MemoryLayout<sbx_plugin>.size)
        plugin.abi_major = SBX_ABI_MAJOR
        plugin.abi_minor = SBX_ABI_MINOR
        plugin.needs_minor = info.needsMinor
        plugin.flags = info.isSerial ? SBX_F_SERIAL : 0
        Lifecycle.fill(&plugin)
        return plugin
    }

    private static func roles(of type: any Plugin.Type) -> [String] {
        var roles: [String] = []
        if type is any IngestPlugin.Type { roles.append(SBX_ROLE_INGEST) }
        if type is any BuildPlugin.Type { roles.append(SBX_ROLE_BUILD) }
        if type is any SendHTTPPlugin.Type { roles.append(SBX_ROLE_SEND_HTTP) }
        if type is any SendPlugin.Type { roles.append(SBX_ROLE_SEND) }
        if type is any RegisterPlugin.Type { roles.append(SBX_ROLE_REGISTER) }
        if type is any SourcePlugin.Type { roles.append(SBX_ROLE_SOURCE) }
        if type is any ObservePlugin.Type { roles.append(SBX_ROLE_OBSERVE) }
        if type is any FilterPlugin.Type { roles.append(SBX_ROLE_FILTER) }
        return roles
    }

    private static func needs(of type: any Plugin.Type) -> [String] {
        var needs = [SBX_SVC_JSON, SBX_SVC_CLOCK] + type.info.needs
        if type is any SendPlugin.Type { needs.append(SBX_SVC_SEND_HOST) }
        if type is any SourcePlugin.Type { needs.append(SBX_SVC_SOURCE_HOST) }
        if type is any ObservePlugin.Type { needs.append(SBX_SVC_OBSERVE_HOST) }
        return needs
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
            guard let id, let library = Library.shared.withLock({ $0 }) else { return nil }
            switch String(cString: id) {
            case SBX_ROLE_INGEST where library.type is any IngestPlugin.Type:
                return UnsafeRawPointer(library.ingest)
            case SBX_ROLE_BUILD where library.type is any BuildPlugin.Type:
                return UnsafeRawPointer(library.build)
            case SBX_ROLE_SEND_HTTP where library.type is any SendHTTPPlugin.Type:
                return UnsafeRawPointer(library.sendHTTP)
            case SBX_ROLE_SEND where library.type is any SendPlugin.Type:
                return UnsafeRawPointer(library.send)
            case SBX_ROLE_REGISTER where library.type is any RegisterPlugin.Type:
                return UnsafeRawPointer(library.register)
            case SBX_ROLE_SOURCE where library.type is any SourcePlugin.Type:
                return UnsafeRawPointer(library.source)
            case SBX_ROLE_OBSERVE where library.type is any ObservePlugin.Type:
                return UnsafeRawPointer(library.observe)
            case SBX_ROLE_FILTER where library.type is any FilterPlugin.Type:
                return UnsafeRawPointer(library.filter)
            default: return nil
            }
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
