public import CSignalbox
import SignalboxPluginKit

/// Builds a notification from the event's "title" and "text".
final class Instance: BuildPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "builds from title and text")

    init(host: Host, config: JSON) throws(PluginError) {}

    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        var note = PushNotification()
        note.title = data["title"]?.string ?? ""
        note.body = data["text"]?.string ?? ""
        // One content for all recipients is rendered once.
        try sink.emit(note, to: (0..<input.recipientCount).map { BuildSink.Target($0) })
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
