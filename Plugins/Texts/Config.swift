import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "properties": {
            "language": {
              "type": "string", "pattern": "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$", "default": "en",
              "description": "for devices without a language, and for texts without theirs"
            },
            "sound": { "type": "string", "default": "default", "description": "empty: none" }
          }
        }
        """

    let language: String
    let sound: String

    init(_ json: JSON) {
        language = (json["language"]?.string ?? "en").lowercased()
        sound = json["sound"]?.string ?? ""
    }
}
