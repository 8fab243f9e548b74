import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = Keys.schema { try Config($0, nil) }

    /// Minutes of a local day.
    let from: Int
    let to: Int
    let timezone: String
    let attribute: String
    let drops: Bool

    init(_ keys: Keys, _ host: Host?) throws(PluginError) {
        let time = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
        from = Self.minutes(
            keys.text(
                "from", pattern: time,
                "when the quiet hours begin, in local time: \"22:00\", in quotes"))
        to = Self.minutes(
            keys.text(
                "to", pattern: time,
                "when they end, perhaps on the next day: \"07:00\", in quotes"))
        timezone = keys.text(
            "timezone", bytes: 1...,
            "the time zone of recipients who name none, such as Europe/Vienna")
        attribute = keys.text(
            "attribute", bytes: 1..., default: "timezone",
            "the attribute of a recipient or device that names its time zone")
        let then = keys.choice(
            "then", ["wait", "drop"],
            "wait: the push comes when they end; drop: it does not come")
        drops = then == "drop"
        guard from != to else {
            throw PluginError(.invalid, "from and to are the same: there are no quiet hours")
        }
        guard host?.utcOffset(zone: timezone, unixMs: 0) != nil else {
            throw PluginError(
                .invalid,
                "timezone \"\(timezone)\" is no name of the IANA time zones, such as Europe/Vienna")
        }
    }

    /// Of `07:30`, which the schema has checked.
    private static func minutes(_ text: String) -> Int {
        let parts = text.split(separator: ":").map { Int($0) ?? 0 }
        return parts.count == 2 ? parts[0] * 60 + parts[1] : 0
    }
}
