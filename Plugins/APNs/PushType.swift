/// A push type with its rules from Apple's tables.
struct PushType {
    /// What follows the bundle id in the topic.
    var suffix = ""
    var bytesMax = 4096
    /// The only allowed priority; nil for the notification's.
    var priority: String?
    /// It is useless later: one attempt, not stored by Apple.
    var expiresAtOnce = false
    /// Apple takes it with a provider token alone, not with a certificate.
    var needsToken = false
    /// The member without which the device does nothing; its value is text.
    var member = ""

    static let all: [String: PushType] = [
        "alert": PushType(),
        "background": PushType(priority: "5"),
        "voip": PushType(suffix: ".voip", bytesMax: 5120, priority: "10", expiresAtOnce: true),
        "complication": PushType(suffix: ".complication"),
        "fileprovider": PushType(
            suffix: ".pushkit.fileprovider", needsToken: true, member: "container-identifier"),
        "mdm": PushType(member: "mdm"),
        "liveactivity": PushType(suffix: ".push-type.liveactivity"),
        "location": PushType(suffix: ".location-query", needsToken: true),
        "pushtotalk": PushType(suffix: ".voip-ptt", priority: "10", expiresAtOnce: true),
        "widgets": PushType(suffix: ".push-type.widgets"),
        "controls": PushType(suffix: ".push-type.controls"),
    ]

    /// Largest payload of a broadcast.
    static let broadcastBytesMax = 5120
}
