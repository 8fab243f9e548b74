import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "required": ["url"],
          "addresses": { "config": { "format": ["slack", "teams", "discord"] } },
          "properties": {
            "url": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "where to post; {{ token }} in its path stands for a device's token"
            },
            "format": {
              "type": "string", "enum": ["json", "slack", "teams", "discord"], "default": "json",
              "description": "json: all fields, or those of body; the others: as these chats take them"
            },
            "body": {
              "type": "object", "additionalProperties": true,
              "description": "the JSON to post, with placeholders such as {{ title }} in its texts"
            },
            "secret": {
              "type": "string", "format": "secret", "minLength": 16,
              "description": "signs each request: signalbox-signature, as for receivers of outcomes"
            },
            "authorization": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the value of the header authorization, such as Bearer and a token"
            },
            "method": {
              "type": "string", "enum": ["POST", "PUT", "PATCH"], "default": "POST"
            },
            "headers": {
              "type": "array", "maxItems": 16, "default": [],
              "description": "more header fields, such as an API key",
              "items": {
                "type": "object", "required": ["name", "value"],
                "properties": {
                  "name": { "type": "string", "pattern": "^[A-Za-z][A-Za-z0-9-]{0,63}$" },
                  "value": { "type": "string", "format": "secret", "minLength": 1 }
                }
              }
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots instead of the system's"
            },
            "request_timeout_ms": {
              "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000
            },
            "connections": {
              "type": "integer", "minimum": 1, "maximum": 256, "default": 8,
              "description": "most requests at a time"
            }
          }
        }
        """

    /// How a notification is written.
    enum Format: String, Sendable { case json, slack, teams, discord }

    /// What is not for a configuration to set.
    private static let ownHeaders: Set = [
        "authorization", "connection", "content-length", "content-type", "expect", "host",
        "keep-alive", "proxy-authorization", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    let format: Format
    let method: String
    /// Names in lower case, and the names of the secrets with their values.
    let headers: [(name: String, secret: String)]
    let hasAuthorization: Bool
    let isSigned: Bool
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32
    /// The JSON of `body`; nil for all fields.
    private let template: String?

    init(_ json: JSON) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        format = Format(rawValue: text("format")) ?? .json
        method = json["method"]?.string ?? "POST"
        headers = (json["headers"]?.elements ?? []).enumerated().map { index, header in
            (header["name"]?.string?.lowercased() ?? "", "headers.\(index).value")
        }
        for (index, header) in headers.enumerated()
        where Self.ownHeaders.contains(header.name) || header.name.hasPrefix("signalbox-") {
            throw PluginError(
                .invalid,
                "config.headers[\(index)] is \(header.name), which the gateway sets itself"
                    + (header.name == "authorization" ? "; use config.authorization" : ""))
        }
        hasAuthorization = !text("authorization").isEmpty
        isSigned = !text("secret").isEmpty
        caFile = text("ca")
        connections = UInt32(clamping: json["connections"]?.integer ?? 8)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
        let body = json["body"]
        guard body == nil || format == .json else {
            throw PluginError(.invalid, "config.body is for format: json; remove one of them")
        }
        template = body?.text
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

extension Host {
    /// A secret without the line end that an editor leaves in its file.
    func secretLine(_ name: String) throws(PluginError) -> String {
        var text = try secretText(name)
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }
}
