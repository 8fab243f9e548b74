public import CSignalbox
import SignalboxPluginKit

/// Posts notifications to a URL: a customer's own service, a chat.
final class Webhook: SendHTTPPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.webhook", version: "1.0.0",
        summary: "posts notifications as JSON: your own service, Slack, Teams, Discord",
        configSchema: Config.schema)

    private let host: Host
    private let config: Config

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        // Fails at startup if the URL cannot be used.
        _ = try Target(host)
        for header in self.config.headers {
            guard try host.secretLine(header.secret).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
            else {
                throw PluginError(.invalid, "config.\(header.secret) has a control character")
            }
        }
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        var endpoint = Endpoint(origin: try Target(host).origin, config.connections)
        endpoint.isREST = true
        return endpoint
    }

    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        // Read each time, so that a changed secret file counts at once.
        let target = try Target(host)
        var draft = RequestDraft()
        for index in 0..<batch.count {
            let delivery = batch[index]
            let content = Content(delivery)
            if let outcome = try write(content, to: target, &draft) {
                try sink.settle([delivery.id], outcome)
            } else {
                try sink.send(draft, for: delivery.id)
            }
        }
    }

    /// Writes the request, or returns the outcome if nothing must be sent.
    private func write(
        _ content: Content, to target: Target, _ draft: inout RequestDraft
    ) throws(PluginError) -> Outcome? {
        guard !content.note.isDryRun else { return Outcome(.rejected, "no_dry_run") }
        guard config.format == .json || !content.note.isWithdrawn else {
            return Outcome(.delivered, "nothing_to_take_back")
        }
        guard config.format == .json || content.isShown else {
            return Outcome(.rejected, "nothing_to_show")
        }
        guard let path = target.path(token: content.token) else {
            return Outcome(.rejected, "malformed_token")
        }
        let body = try config.body(of: content, host)
        draft.begin(config.method, path: path)
        draft.header("content-type", "application/json")
        draft.header("signalbox-id", content.id, isIndexed: false)
        for header in config.headers {
            draft.header(header.name, try host.secretLine(header.secret), isIndexed: false)
        }
        if !config.authorization.isEmpty {
            draft.header("authorization", try host.secretLine(config.authorization))
        }
        if !config.signingSecret.isEmpty {
            draft.header("signalbox-signature", try signature(of: body), isIndexed: false)
        }
        draft.appendBody(body.span)
        return nil
    }

    /// As receivers of outcomes get it: `t=MILLISECONDS,v1=HEX`.
    private func signature(of body: [UInt8]) throws(PluginError) -> String {
        let time = String(host.nowUnixMs)
        let signed = try host.hmac(
            key: CryptoKey(secret: config.signingSecret), data: Array("\(time).".utf8) + body)
        return "t=\(time),v1=\(Hex.encode(signed))"
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        let isPersonal = try Target(host).namesToken
        for index in 0..<batch.count {
            let response = batch[index]
            let answer = Answer(
                status: response.status, body: response.body,
                json: try? host.parse(response.body), isPersonal: isPersonal)
            let outcome = answer.outcome(retryAfterMs: host.retryAfterMs(response))
            try sink.settle(response.items, outcome)
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Webhook.self) }
