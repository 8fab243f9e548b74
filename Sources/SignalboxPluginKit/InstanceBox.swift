/// The object behind an `sbx_instance`.
final class InstanceBox {
    let plugin: any Plugin
    /// The plugin in the roles that each event passes: to look for a conformance costs as much as a short call.
    let ingest: (any IngestPlugin)?
    let builder: (any BuildPlugin)?
    let sendHTTP: (any SendHTTPPlugin)?
    let host: Host
    /// Text that the host may read until `destroy`.
    let kept = Arena()

    init(plugin: any Plugin, host: Host) {
        self.plugin = plugin
        ingest = plugin as? any IngestPlugin
        builder = plugin as? any BuildPlugin
        sendHTTP = plugin as? any SendHTTPPlugin
        self.host = host
    }

    static func from(_ instance: OpaquePointer?) -> InstanceBox? {
        instance.map {
            Unmanaged<InstanceBox>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue()
        }
    }
}
