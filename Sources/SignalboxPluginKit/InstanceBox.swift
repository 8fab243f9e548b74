internal import CSignalbox

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

/// Runs a method of an instance in one of its roles. What it throws becomes a status, and its message is written to
/// the host's struct.
@inline(__always)
func role<Role>(
    _ instance: OpaquePointer?, _ error: UnsafeMutablePointer<sbx_error>?,
    _ find: (InstanceBox) -> Role?, _ body: (Role, InstanceBox) throws(PluginError) -> Void
) -> sbx_status {
    guard let box = InstanceBox.from(instance), let role = find(box) else { return SBX_E_INTERNAL }
    return reporting(to: error) { () throws(PluginError) in try body(role, box) }
}

/// The same for roles that have longer calls.
func role<Role>(
    _ instance: OpaquePointer?, _ error: UnsafeMutablePointer<sbx_error>?,
    _ body: (Role, InstanceBox) throws(PluginError) -> Void
) -> sbx_status {
    role(instance, error, { $0.plugin as? Role }, body)
}
