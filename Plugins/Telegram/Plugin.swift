public import CSignalbox
import SignalboxPluginKit

/// A bot of Telegram, by its Bot API.
final class Telegram: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.telegram", version: "1.0.0",
        summary: "messages of a Telegram bot to users, groups and channels",
        configSchema: Config.schema)

    private let host: Host
    private let config: Config
    private let moves = Moves()

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = Config(Keys(config))
        // Fails at startup if the token is missing or malformed.
        _ = try Config.path(host)
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        var endpoint = Endpoint(origin: config.origin, config.connections)
        // A Bot API server of one's own speaks HTTP/1.1 alone.
        endpoint.isREST = true
        return endpoint
    }

    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        // Read each time, so that a changed secret file counts at once.
        var encoder = Encoder(config: config, path: try Config.path(host), moves: moves, host: host)
        try sink.send(batch, by: &encoder)
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let response = batch[index]
            let chat = Chat(response.context)
            let answer = Answer(
                status: response.status, json: try? host.parse(response.body),
                retryAfterMs: host.retryAfterMs(response))
            if let chat, let successor = answer.successor { moves.note(chat.id, successor) }
            try sink.settle(response.items, answer.outcome(for: chat))
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Telegram.self) }
