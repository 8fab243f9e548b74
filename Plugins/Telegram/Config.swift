import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object", "family": "telegram", "addresses": {}, "required": ["bot_token"],
          "properties": {
            "bot_token": {
              "type": "string", "format": "secret", "minLength": 1,
              "description": "the bot's token from BotFather, such as ${file:secrets/telegram}"
            },
            "button": {
              "type": "string", "minLength": 1, "maxLength": 64, "default": "Open",
              "description": "the words on the button that opens a notification's link"
            },
            "protect_content": {
              "type": "boolean", "default": false,
              "description": "recipients can neither forward nor save the messages"
            },
            "endpoint": {
              "type": "string", "format": "uri", "default": "",
              "description": "another origin than Telegram's: a Bot API server of your own"
            },
            "ca": {
              "type": "string", "format": "path", "default": "",
              "description": "PEM file of trusted roots instead of the system's"
            },
            "request_timeout_ms": {
              "type": "integer", "minimum": 100, "maximum": 60000, "default": 10000
            },
            "connections": {
              "type": "integer", "minimum": 1, "maximum": 64, "default": 8,
              "description": "most requests at a time"
            }
          }
        }
        """

    let origin: String
    let button: String
    let isProtected: Bool
    let caFile: String
    let connections: UInt32
    let requestTimeoutMs: UInt32

    init(_ json: JSON) throws(PluginError) {
        func text(_ key: String) -> String { json[key]?.string ?? "" }
        origin = text("endpoint").isEmpty ? "https://api.telegram.org" : text("endpoint")
        button = text("button").isEmpty ? "Open" : text("button")
        isProtected = json["protect_content"]?.boolean ?? false
        caFile = text("ca")
        connections = UInt32(clamping: json["connections"]?.integer ?? 8)
        requestTimeoutMs = UInt32(clamping: json["request_timeout_ms"]?.integer ?? 10_000)
    }

    /// The path of `sendMessage`, which holds the bot's token.
    static func path(_ host: Host) throws(PluginError) -> String {
        var token = try host.secretText("bot_token")
        // An editor leaves a line end in a secret's file.
        while token.last?.isNewline == true { token.removeLast() }
        // It becomes a part of a path. Whether it is a token at all, Telegram says.
        let isPart = token.utf8.allSatisfy {
            Self.isDigit($0) || (0x41...0x5A).contains($0 & 0xDF)
                || [0x2D, 0x3A, 0x5F].contains($0)
        }
        guard isPart, !token.isEmpty else {
            // The token itself is a secret.
            throw PluginError(
                .invalid,
                "config.bot_token has characters that no token of BotFather has (123456789:AAE-x_y)"
            )
        }
        return "/bot\(token)/sendMessage"
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
