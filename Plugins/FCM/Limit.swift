import SignalboxPluginKit

/// How large a message may be. FCM documents 4,096 bytes, of names and texts; what goes on to Apple has
/// Apple's limit, for all of the JSON that comes of it.
enum Limit {
    /// What FCM adds to a payload for Apple: its message's id and sender.
    private static let addedForApple = 256

    /// The message, if need be with shortened texts.
    static func fitted(
        _ message: [UInt8], of note: Notification, platform: String, _ host: Host
    ) throws(PluginError) -> [UInt8] {
        let isApple = platform == "ios"
        var limit = PayloadLimit(bytesMax: isApple ? 4096 - addedForApple : 4096)
        // What counts is never more than all of it.
        if message.count <= limit.bytesMax { return message }
        limit.countsTexts = !isApple
        limit.counted =
            isApple
            ? ["/notification", "/data", "/apns/payload"]
            : [
                "/notification", "/data", "/android/notification", "/android/data",
                "/webpush/notification", "/webpush/data",
            ]
        limit.data = "/data"
        for base in ["/notification", "/data", "/android/notification", "/webpush/notification"] {
            for field in [PayloadLimit.Field.title, .body] {
                limit.places.append((field, "\(base)/\(field.rawValue)"))
                limit.places.append((field, "\(base)/\(field.rawValue)_loc_args"))
            }
        }
        limit.addAlert("/apns/payload/aps/alert", of: message, host)
        return try host.fitted(message, of: note, to: limit)
    }
}
