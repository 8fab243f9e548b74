import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema { Config($0) }

    let language: String
    let sound: String

    init(_ keys: Keys) {
        let text = keys.text(
            "language", pattern: "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", default: "en",
            "for devices without a language, and for texts without theirs")
        language = text.lowercased()
        sound = keys.text("sound", default: "default", "empty: none")
    }
}
