import SignalboxPluginKit

/// Size limit of messages: 4,096 bytes of JSON without the token.
enum Limit {
    /// Bytes around the message: `{"validate_only":true,"message":{"token":[""],`.
    private static let frame = 48

    /// The message, with shortened texts if necessary.
    static func fitted(
        _ message: [UInt8], of note: PushNotification, data: String = "/data", _ host: Host
    ) throws(PluginError) -> [UInt8] {
        var limit = PayloadLimit(bytesMax: 4096 - frame)
        if message.count <= limit.bytesMax { return message }
        // The data is JSON as text, into which a pointer continues.
        limit.data = data
        for base in [
            "/payload/notification", "/payload/notification/clickAction/data", "/payload/extraData",
            "/notification", "/android/notification", "/data", "/data/pushbody",
            "/data/pushbody/data",
        ] {
            for field in [PayloadLimit.Field.title, .body] {
                limit.places.append((field, "\(base)/\(field.rawValue)"))
                limit.places.append((field, "\(base)/\(field.rawValue)_loc_args"))
            }
        }
        limit.places.append((.body, "/data/pushbody/description"))
        return try host.fitted(message, of: note, to: limit)
    }
}
