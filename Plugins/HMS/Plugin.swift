public import CSignalbox
import SignalboxPluginKit
import Synchronization

/// Huawei Push Kit, REST API v1, v2 and v3.
final class HMS: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.hms", version: "1.0.0",
        summary: "Huawei Push Kit v1 and v2 with an OAuth client, v3 with a service account",
        configSchema: Config.schema)

    /// Name of the access token among the instance's credentials.
    static let accessToken = "access_token"

    private struct Known {
        /// Whether Huawei has accepted a push of this client: its ids are known to be right.
        var isProven = false
        /// Deliveries that Huawei only checks; their acceptance proves nothing about tokens.
        var dryRuns: Set<UInt64> = []
    }

    private let host: Host
    private let config: Config
    /// Of API v3; nil for v1 and v2.
    private let account: ServiceAccount?
    private let known = Mutex(Known())

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = Config(Keys(config))
        account = try self.config.account(host)
        // Fails at startup if the key cannot sign, which is a configuration error.
        if let account { _ = try account.token(host) }
    }

    func start() throws(PluginError) {
        let host = host
        let config = config
        let account = account
        // A token is valid for an hour. The interval keeps late 80200003s for the old token from replacing the new one.
        try host.defineCredential(Self.accessToken, minIntervalMs: 1_000) {
            () throws(PluginError) in
            guard let account else {
                return try OAuth.token(config, host: host)
            }
            return try account.token(host)
        }
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        try config.apps.check(app)
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
            config: config, account: account, authorization: "Bearer \(token)", host: host)
        // Even if the batch fails in the middle.
        defer { note(encoder.dryRuns) }
        try sink.send(batch, by: &encoder)
    }

    private func note(_ dryRuns: [UInt64]) {
        guard !dryRuns.isEmpty else { return }
        known.withLock { known in
            // Requests that nobody answers leave their ids behind.
            if known.dryRuns.count > 10_000 { known.dryRuns = [] }
            known.dryRuns.formUnion(dryRuns)
        }
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let response = batch[index]
            let answer = Answer(
                status: response.status, json: try? host.parse(response.body),
                isV3: account != nil, host: host)
            let items = response.items
            let isProven = known.withLock { known in
                let isDryRun = items.contains { known.dryRuns.remove($0) != nil }
                if answer.isAccepted, !isDryRun { known.isProven = true }
                return known.isProven
            }
            let outcome = answer.outcome(
                isProven: isProven, retryAfterMs: host.retryAfterMs(response))
            try sink.settle(items, outcome)
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(HMS.self) }
