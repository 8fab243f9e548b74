public import CSignalbox
import SignalboxPluginKit

/// Builds notifications from texts in the event itself, in each device's language: for events
/// that a program submits, or that come from a source without its own builder.
final class Texts: BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.texts", version: "1.0.0",
        summary: "builds notifications from texts in the event, in the device's language",
        configSchema: Config.schema)

    let config: Config

    init(host: Host, config: JSON) throws(PluginError) { self.config = Config(Keys(config)) }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Texts.self) }
