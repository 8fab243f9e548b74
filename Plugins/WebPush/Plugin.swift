public import CSignalbox
import SignalboxPluginKit

/// Web Push (RFC 8030): browsers, through the push service that each subscription names.
final class WebPush: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.webpush", version: "1.0.0",
        summary: "Web Push to browsers: VAPID, payloads encrypted for each subscription",
        configSchema: Config.schema)

    private let host: Host
    private let config: Config
    private let vapid: VAPID

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        // Fails at startup if the key cannot sign.
        vapid = try VAPID(host, self.config)
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        // Each request names its own.
        var endpoint = Endpoint(origin: "https://push.invalid", config.connections)
        endpoint.isREST = true
        endpoint.allowsPrivateOrigins = config.allowsPrivateOrigins
        return endpoint
    }

    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        var encoder = Encoder(host: host, vapid: vapid)
        try sink.send(batch, by: &encoder)
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let response = batch[index]
            let answer = Answer(
                status: response.status,
                serviceStatus: response.header("x-wns-status")?.lowercased() ?? "")
            try sink.settle(
                response.items, answer.outcome(retryAfterMs: host.retryAfterMs(response)))
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(WebPush.self) }
