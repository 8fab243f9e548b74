public import CSignalbox
import SignalboxPluginKit

/// Reports dead tokens to a server: DELETE /devices with the token as body.
final class Instance: RegisterPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "deletes dead tokens",
        configSchema: #"{"type":"object","required":["endpoint"],"properties":{"endpoint":{"type":"string","format":"uri"}}}"#)
    static let maxChanges = 100
    static let changeKinds: Set<ChangeKind> = [.invalid]
    private let origin: String

    init(host: Host, config: JSON) throws(PluginError) {
        origin = config["endpoint"]?.string ?? ""
    }

    func registerEndpoint(app: String) throws(PluginError) -> Endpoint { Endpoint(origin: origin) }

    func prepare(
        _ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        var draft = RequestDraft()
        for index in 0..<changes.count {
            draft.begin("DELETE", path: "/devices")
            draft.appendBody(changes[index].sourceToken.utf8.span)
            try sink.send(draft, for: changes[index].id)
        }
    }

    func classifyChanges(
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
