import SignalboxPluginKit

/// The `config:` of an instance.
struct Config: Sendable {
    static let schema = """
        {
          "type": "object",
          "required": ["path"],
          "properties": {
            "path": {
              "type": "string", "pattern": "^/[!-~]+$", "minLength": 2, "maxLength": 512,
              "description": "the path of the webhook, such as /in/zendesk/SECRET"
            },
            "sound": {
              "type": "string", "default": "default",
              "description": "sound of the notification; empty: none"
            },
            "deep_link_keys": {
              "type": "array", "minItems": 1, "maxItems": 8,
              "items": { "type": "string", "minLength": 1, "maxLength": 64 },
              "default": ["zendesk_sdk_request_id", "tid"],
              "description": "keys under which the app finds the ticket's id"
            }
          }
        }
        """

    /// `build.options` of a route.
    static let optionsSchema = """
        {
          "type": "object",
          "properties": {
            "display": {
              "type": "string", "enum": ["app", "system"], "default": "app",
              "description": "who shows it on Android: the app from data, or the system"
            }
          }
        }
        """

    let path: String
    let sound: String
    let deepLinkKeys: [String]

    init(_ json: JSON) {
        path = json["path"]?.string ?? ""
        sound = json["sound"]?.string ?? ""
        deepLinkKeys = json["deep_link_keys"]?.elements.compactMap(\.string) ?? []
    }
}
