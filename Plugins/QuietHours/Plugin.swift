public import CSignalbox
import SignalboxPluginKit

/// Has pushes wait until the quiet hours of their recipients are over, or leaves those recipients out.
final class QuietHours: FilterPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.quiet-hours", version: "1.0.0",
        summary: "has pushes wait while it is night at their recipients",
        configSchema: Config.schema)

    let host: Host
    let config: Config

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config), host)
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(QuietHours.self) }
