import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema(
        #""family": "telegram", "platforms": ["telegram"], "addresses": {}"#
    ) { Config($0) }

    let button: String
    let isProtected: Bool
    let origin: String
    let connections: Connections

    init(_ keys: Keys) {
        _ = keys.secret(
            "bot_token", isRequired: true,
            "the bot's token from BotFather, such as ${file:secrets/telegram}")
        button = keys.text(
            "button", bytes: 1...64, default: "Open",
            "the words on the button that opens a notification's link")
        isProtected = keys.flag(
            "protect_content", "recipients can neither forward nor save the messages")
        origin = keys.endpoint(
            "https://api.telegram.org",
            "another origin than Telegram's: a Bot API server of your own")
        connections = keys.connections(8, "most requests at a time")
    }

    /// The path of `sendMessage`, which holds the bot's token.
    static func path(_ host: Host) throws(PluginError) -> String {
        let token = try host.secretLine("bot_token")
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
