/// The object behind an `sbx_instance`.
final class InstanceBox {
    let plugin: any Plugin
    let host: Host
    /// Text that the host may read until `destroy`.
    let kept = Arena()

    init(plugin: any Plugin, host: Host) {
        self.plugin = plugin
        self.host = host
    }

    static func from(_ instance: OpaquePointer?) -> InstanceBox? {
        instance.map {
            Unmanaged<InstanceBox>.fromOpaque(UnsafeRawPointer($0)).takeUnretainedValue()
        }
    }
}
