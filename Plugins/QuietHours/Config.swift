import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "required": ["from", "to", "timezone"],
          "properties": {
            "from": {
              "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$",
              "description": "when the quiet hours begin, in local time: \\"22:00\\", in quotes"
            },
            "to": {
              "type": "string", "pattern": "^([01][0-9]|2[0-3]):[0-5][0-9]$",
              "description": "when they end, perhaps on the next day: \\"07:00\\", in quotes"
            },
            "timezone": {
              "type": "string", "minLength": 1,
              "description": "the time zone of recipients who name none, such as Europe/Vienna"
            },
            "attribute": {
              "type": "string", "minLength": 1, "default": "timezone",
              "description": "the attribute of a recipient or device that names its time zone"
            },
            "then": {
              "type": "string", "enum": ["wait", "drop"], "default": "wait",
              "description": "wait: the push comes when they end; drop: it does not come"
            }
          }
        }
        """

    /// Minutes of a local day.
    let from: Int
    let to: Int
    let timezone: String
    let attribute: String
    let drops: Bool

    init(_ json: JSON, _ host: Host) throws(PluginError) {
        from = Self.minutes(json["from"]?.string ?? "")
        to = Self.minutes(json["to"]?.string ?? "")
        timezone = json["timezone"]?.string ?? ""
        attribute = json["attribute"]?.string ?? "timezone"
        drops = json["then"]?.string == "drop"
        guard from != to else {
            throw PluginError(.invalid, "from and to are the same: there are no quiet hours")
        }
        guard host.utcOffset(zone: timezone, unixMs: 0) != nil else {
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
