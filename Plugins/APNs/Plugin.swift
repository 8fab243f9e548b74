public import CSignalbox
import SignalboxPluginKit
import Synchronization

/// The Apple Push Notification service over HTTP/2.
final class APNs: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.apns", version: "1.0.0",
        summary: "Apple Push Notification service: all push types, token or certificate auth",
        configSchema: Config.schema)

    /// The name of the provider token among the instance's credentials.
    static let providerToken = "provider_token"

    private let host: Host
    private let config: Config
    /// Topics that have taken a push: from then on the environment is known to be right.
    private let provenApps = Mutex<Set<String>>([])

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(config)
        // A key that does not sign is a mistake in the config, so it is found here.
        if self.config.usesToken {
            _ = try ProviderToken.make(self.config, nowUnixMs: host.nowUnixMs, host: host)
        }
    }

    func start() throws(PluginError) {
        guard self.config.usesToken else { return }
        let host = host
        let config = config
        if config.teamID.utf8.count != 10 || config.keyID.utf8.count != 10 {
            host.write(.warn, "Apple's team and key ids have 10 characters; these have not")
        }
        // Apple refuses tokens older than 60 minutes and more than one new token in 20.
        try host.defineCredential(Self.providerToken, minIntervalMs: 20 * 60_000) {
            () throws(PluginError) in
            let now = host.nowUnixMs
            let token = try ProviderToken.make(config, nowUnixMs: now, host: host)
            return Credential(
                value: token, refreshUnixMs: now + 50 * 60_000, expiresUnixMs: now + 59 * 60_000)
        }
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        guard config.serves(app) else {
            throw PluginError(.notFound, "\"\(app)\" is neither topic nor one of topics")
        }
        var endpoint = Endpoint(origin: config.origin)
        endpoint.caFile = config.caFile
        endpoint.isOneStreamFirst = config.usesToken
        endpoint.connectionsMax = config.connections
        endpoint.requestTimeoutMs = config.requestTimeoutMs
        endpoint.pingIdleMs = 60 * 60_000
        if !config.usesToken {
            endpoint.clientCertificate = "certificate"
            endpoint.clientKey = "certificate_key"
        }
        return endpoint
    }

    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        let authorization =
            config.usesToken ? "bearer " + (try host.credential(Self.providerToken)) : ""
        let topic = batch.app.isEmpty ? config.topic : batch.app
        var encoder = Encoder(
            config: config, topic: topic, authorization: authorization, host: host)
        for index in 0..<batch.count {
            let delivery = batch[index]
            if let outcome = encoder.encode(delivery) {
                try sink.settle([delivery.id], outcome)
            } else {
                try sink.send(encoder.draft, for: delivery.id)
            }
        }
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let response = batch[index]
            let app = response.app
            if response.status == 200 {
                var outcome = Outcome(.delivered, "ok")
                outcome.providerCode = 200
                outcome.providerID = response.header("apns-id") ?? ""
                try sink.settle(response.items, outcome)
                provenApps.withLock { _ = $0.insert(app) }
                continue
            }
            let answer = try? host.parse(response.body)
            let outcome = Reasons.outcome(
                status: response.status, reason: answer?["reason"]?.string ?? "",
                timestampMs: answer?["timestamp"]?.integer,
                isEnvironmentProven: provenApps.withLock { $0.contains(app) })
            try sink.settle(response.items, outcome)
        }
    }
}

/// The entry of the library.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(APNs.self) }
