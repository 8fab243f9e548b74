import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        """
        "platforms": ["webhook", "slack", "teams", "discord"],
        "addresses": { "config": { "format": ["slack", "teams", "discord"] } }
        """
    ) { try Config($0) }

    /// How a notification is written.
    enum Format: String, CaseIterable, Sendable { case json, slack, teams, discord }

    /// What is not for a configuration to set.
    private static let ownHeaders: Set = [
        "authorization", "connection", "content-length", "content-type", "expect", "host",
        "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    let format: Format
    let method: String
    let headers: [(name: String, secret: String)]
    /// Names of secrets, or empty.
    let authorization: String
    let signingSecret: String
    let connections: Connections
    /// The JSON of `body`; nil for all fields.
    private let template: String?

    init(_ keys: Keys) throws(PluginError) {
        _ = keys.secret(
            "url", isRequired: true,
            "where to post; {{ token }} in its path stands for a device's token")
        format = keys.choice(
            "format", Format.self,
            "json: all fields, or those of body; the others: as these chats take them")
        let body = keys.json(
            "body", "the JSON to post, with placeholders such as {{ title }} in its texts")
        template = body?.text
        signingSecret = keys.secret(
            "secret", bytes: 16...,
            "signs each request: signalbox-signature, as for receivers of outcomes")
        authorization = keys.secret(
            "authorization", "the value of the header authorization, such as Bearer and a token")
        method = keys.choice("method", ["POST", "PUT", "PATCH"])
        headers = try keys.headers(
            upTo: 16, nameUpTo: 64, "more header fields, such as an API key")
        connections = keys.connections(8, upTo: 256, "most requests at a time")
        for (index, header) in headers.enumerated()
        where Self.ownHeaders.contains(header.name) || header.name.hasPrefix("signalbox-") {
            throw PluginError(
                .invalid,
                "config.headers[\(index)] is \(header.name), which the gateway sets itself"
                    + (header.name == "authorization" ? "; use config.authorization" : ""))
        }
        guard body == nil || format == .json else {
            throw PluginError(.invalid, "config.body is for format: json; remove one of them")
        }
        if let body { try Placeholders.check(body) }
    }

    /// The body of a request.
    func body(of content: Content, _ host: Host) throws(PluginError) -> [UInt8] {
        var writer = JSONWriter()
        switch format {
        case .slack: Chats.slack(content, to: &writer)
        case .teams: Chats.teams(content, to: &writer)
        case .discord: Chats.discord(content, to: &writer)
        case .json:
            let data = try content.data(host)
            if let template {
                Placeholders.write(try host.parse(template.utf8.span), content, data, to: &writer)
            } else {
                content.write(data, to: &writer)
            }
        }
        return writer.bytes
    }
}
