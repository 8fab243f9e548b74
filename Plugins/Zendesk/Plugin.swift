public import CSignalbox
import SignalboxPluginKit

/// The push webhook of the Zendesk Support SDK: turns an agent's public reply into an event, and the
/// event a notification with the app's deep-link keys.
final class Zendesk: IngestPlugin, BuildPlugin, RegisterPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.zendesk", version: "1.0.0",
        summary: "Zendesk Support SDK push webhook in; notifications with deep links out",
        configSchema: Config.schema)

    private let host: Host
    private let config: Config

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
    }

    var paths: [IngestPath] { [IngestPath(config.path)] }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        if !config.signingSecret.isEmpty { try verify(request) }
        let webhook = try Webhook(try host.parse(bodyOf: request))
        let (recipients, rejects) = webhook.recipients()
        for reject in rejects { sink.reject(reject.rawValue, reject.detail) }
        guard !recipients.isEmpty else {
            host.write(
                .info, "webhook names no usable device",
                [("devices", String(webhook.devices.count))])
            return
        }
        try sink.emit(webhook.event(for: recipients))
    }

    /// Most that Zendesk's clock and ours may differ, in milliseconds; older signatures count as replays.
    private static let toleranceMs: UInt64 = 5 * 60_000

    /// Zendesk signs the timestamp followed by the raw body.
    private func verify(_ request: borrowing Request) throws(PluginError) {
        let stamp = request.header("x-zendesk-webhook-signature-timestamp") ?? ""
        let given = request.header("x-zendesk-webhook-signature") ?? ""
        guard let signature = Base64URL.decode(given), !signature.isEmpty,
            try host.verify(
                .hmacSHA256, key: config.signingSecret, data: Array(stamp.utf8) + request.bodyBytes,
                signature: signature)
        else { throw Fault.signature.error }
        let now = host.nowUnixMs
        guard let time = Timestamp.unixMs(stamp),
            max(time, now) - min(time, now) <= Self.toleranceMs
        else { throw Fault.stale.error }
    }

    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        let data = try input.data()
        let options = try input.options()
        var note = PushNotification()
        note.title = data.at("/notification/title")?.string ?? ""
        note.body = data.at("/notification/body")?.string ?? ""
        note.sound = config.sound
        note.priority = .high
        note.isDataOnly = options["display"]?.string != "system"
        if let ticket = data["ticket_id"]?.string {
            var keys = JSONWriter()
            keys.object { out in
                for key in config.deepLinkKeys { out.member(key, ticket) }
            }
            note.data = keys.text
        }
        try sink.emit(note, to: (0..<input.recipientCount).map { BuildSink.Target($0) })
    }

    static var maxChanges: Int { Unregister.chunkMax }
    static var changeKinds: Set<ChangeKind> { [.invalid] }

    func registerEndpoint(app: String) throws(PluginError) -> Endpoint {
        guard let api = config.api else {
            throw PluginError(.notFound, "config.api is missing, so nothing is reported")
        }
        var endpoint = Endpoint(origin: api.origin)
        endpoint.caFile = api.caFile
        return endpoint
    }

    func prepare(_ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        guard let api = config.api else { return }
        let list = (0..<changes.count).map { changes[$0] }
        let draft = Unregister.request(list, authorization: try api.authorization(host))
        try sink.send(draft, for: list.map(\.id))
    }

    func classifyChanges(
        _ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        for index in 0..<batch.count {
            let response = batch[index]
            let wait = host.retryAfterMs(response)
            try sink.settle(
                response.items,
                Outcome(
                    reportStatus: response.status, accepted: "ok",
                    refusal: "api: the credentials are wrong, or are not an admin's",
                    retryAfterMs: wait))
        }
    }

    static var optionsSchema: String? { Config.optionsSchema }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(Zendesk.self) }
