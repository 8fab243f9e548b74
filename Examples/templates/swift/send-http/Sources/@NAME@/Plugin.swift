public import CSignalbox
import SignalboxPluginKit

/// Sends the body of each notification to an HTTP/2 server, as text.
final class Instance: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "posts bodies as text",
        configSchema: #"{"type":"object","required":["endpoint"],"properties":{"endpoint":{"type":"string","format":"uri"}}}"#)
    private let origin: String

    init(host: Host, config: JSON) throws(PluginError) {
        origin = config["endpoint"]?.string ?? ""
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint { Endpoint(origin: origin) }

    func prepare(
        _ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        var draft = RequestDraft()
        for index in 0..<batch.count {
            draft.begin("POST", path: "/@NAME@")
            draft.appendBody(batch[index].notification().body.utf8.span)
            try sink.send(draft, for: batch[index].id)
        }
    }

    func classify(
        _ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        for index in 0..<batch.count {
            try sink.settle(batch[index].items, Self.outcome(batch[index].status))
        }
    }

    private static func outcome(_ status: Int) -> Outcome {
        var outcome =
            switch status {
            case 200..<300: Outcome(.delivered, "ok")
            case 429: Outcome(.throttled, "throttled")
            case 500...: Outcome(.retry, "server")
            default: Outcome(.rejected, "refused")
            }
        outcome.providerCode = UInt32(status)
        return outcome
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { pluginEntry(Instance.self) }
