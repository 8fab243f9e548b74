public import CSignalbox
import SignalboxPluginKit

/// Reports dead tokens to a server: DELETE /devices with the token as body.
final class Instance: RegisterPlugin {
    static let info = PluginInfo(
        id: "org.example.@ID@", version: "0.1.0", summary: "deletes dead tokens",
        configSchema: """
            {"type":"object","required":["endpoint"],"properties":{"endpoint":{"type":"string","format":"uri"},
             "ca":{"type":"string","format":"path","description":"PEM file of roots other than the system's"},
             "token":{"type":"string","format":"secret"}}}
            """)
    static let maxChanges = 100
    static let changeKinds: Set<ChangeKind> = [.invalid]
    private let host: Host
    private let target: Endpoint
    private let token: String?

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        var target = Endpoint(origin: config["endpoint"]?.string ?? "")
        target.caFile = config["ca"]?.string ?? ""
        self.target = target
        // Where the schema says "format": "secret", config holds a name.
        token = config["token"]?.string
    }

    func registerEndpoint(app: String) throws(PluginError) -> Endpoint { target }

    func prepare(
        _ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        // Read each time: the file of a secret may be replaced. Keep it out of logs and errors.
        let bearer = try token.map { name throws(PluginError) in "Bearer \(try host.secretText(name))" }
        var draft = RequestDraft()
        for index in 0..<changes.count {
            draft.begin("DELETE", path: "/devices")
            if let bearer { draft.header("authorization", bearer) }
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
