public import CSignalbox
import SignalboxPluginKit

/// Leaves recipients out who are online at the source, and has the pushes of events of low urgency wait an hour.
final class Instance: FilterPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "skips who is online")

    init(host: Host, config: JSON) throws(PluginError) {}

    func filter(_ input: borrowing FilterInput, _ sink: borrowing FilterSink) throws(PluginError) {
        var online: [Int] = []
        var others: [Int] = []
        for index in 0..<input.recipientCount {
            if input.recipient(index).attribute("online") == "true" {
                online.append(index)
            } else {
                others.append(index)
            }
        }
        try sink.drop(online, "online")
        // A recipient that no call names is sent to at once, with the event unchanged.
        if try input.data()["urgency"]?.string == "low" {
            try sink.pass(others, notBeforeUnixMs: input.nowUnixMs + 3_600_000)
        }
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
