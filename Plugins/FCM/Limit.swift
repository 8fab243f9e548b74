import SignalboxPluginKit

/// Size limit of messages. FCM documents 4,096 bytes of names and texts; a message for Apple has
/// Apple's limit, for all of the resulting JSON.
enum Limit {
    /// Bytes that FCM adds to a payload for Apple: message id and sender.
    private static let addedForApple = 256

    /// The message, with shortened texts if necessary.
    static func fitted(
        _ message: [UInt8], of note: PushNotification, platform: String, _ host: Host
    ) throws(PluginError) -> [UInt8] {
        let isApple = platform == "ios"
        var limit = PayloadLimit(bytesMax: isApple ? 4096 - addedForApple : 4096)
        // The counted bytes never exceed the whole message.
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
