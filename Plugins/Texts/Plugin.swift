public import CSignalbox
import SignalboxPluginKit

/// Builds notifications out of text that the event itself carries, in each device's language: for events
/// that a program submits, or that come from a source without a builder of its own.
final class Texts: BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.texts", version: "1.0.0",
        summary: "builds notifications from texts in the event, in the device's language",
        configSchema: Config.schema)

    let config: Config

    init(host: Host, config: JSON) throws(PluginError) { self.config = Config(config) }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Texts.self) }
