public import CSignalbox
import SignalboxPluginKit

/// Airship (Urban Airship), its API for pushes.
final class Airship: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.airship", version: "1.0.0",
        summary: "Airship's push API: channels, named users and legacy device tokens",
        configSchema: Config.schema)

    private let host: Host
    private let config: Config

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        // Fails at startup if the secret is missing or empty.
        _ = try self.config.authorization(host)
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
        // Read each time, so that a changed secret file counts at once.
        let authorization = try config.authorization(host)
        var encoder = Encoder(config: config, authorization: authorization, host: host)
        try sink.send(batch, by: &encoder)
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let response = batch[index]
            let answer = Answer(status: response.status, json: try? host.parse(response.body))
            try sink.settle(
                response.items, answer.outcome(retryAfterMs: host.retryAfterMs(response)))
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Airship.self) }
