public import CSignalbox
import SignalboxPluginKit

/// Firebase Cloud Messaging, HTTP v1.
final class FCM: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.fcm", version: "1.0.0",
        summary: "Firebase Cloud Messaging HTTP v1 with a service account",
        configSchema: Config.schema)

    /// Name of the access token among the instance's credentials.
    static let accessToken = "access_token"

    private let host: Host
    private let config: Config
    private let account: ServiceAccount

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = Config(Keys(config))
        account = try ServiceAccount(host)
        // Fails at startup if the key cannot sign, which is a configuration error.
        _ = try OAuth.assertion(account, host)
    }

    func start() throws(PluginError) {
        let host = host
        let account = account
        let caFile = config.connections.caFile
        // A token is valid for an hour. The interval keeps late 401s for the old token from replacing the new one.
        try host.defineCredential(Self.accessToken, minIntervalMs: 1_000) {
            () throws(PluginError) in
            try OAuth.token(account, caFile: caFile, host: host)
        }
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        if app != projectID { try config.apps.check(app) }
        var endpoint = Endpoint(origin: config.origin, config.connections)
        endpoint.isShared = true
        endpoint.isALPNRequired = true
        return endpoint
    }

    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        let token = try host.credential(Self.accessToken)
        var encoder = Encoder(
            config: config, projectID: projectID, authorization: "Bearer \(token)", host: host)
        try sink.send(batch, by: &encoder)
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let response = batch[index]
            let name = response.status == 200 ? Answer.soleName(in: response.body) : nil
            let answer =
                name.map { Answer(name: $0) }
                ?? Answer(status: response.status, json: try? host.parse(response.body))
            var outcome = answer.outcome(retryAfterMs: host.retryAfterMs(response))
            if response.context == Answer.group {
                if outcome.kind == .unregistered { outcome.kind = .rejected }
                outcome.suspectsToken = false
            }
            try sink.settle(response.items, outcome)
        }
    }

    private var projectID: String {
        config.projectID.isEmpty ? account.projectID : config.projectID
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(FCM.self) }
