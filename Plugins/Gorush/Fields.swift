import SignalboxPluginKit

/// The fields of a notification that gorush documents.
enum Fields {
    /// What a field holds.
    enum Kind {
        case text, integer, number, flag, object, list, sound

        /// Whether a value is of this kind; numbers and booleans are texts, too, and digits are an integer.
        func fits(_ value: JSON) -> Bool {
            switch self {
            case .text: value.scalarText != nil
            case .integer: value.wholeNumber != nil
            case .number: value.kind == .integer || value.kind == .number
            case .flag: value.kind == .boolean
            case .object: value.kind == .object
            case .list: value.kind == .array
            case .sound: value.kind == .object || value.string != nil
            }
        }

        var words: String {
            switch self {
            case .text: "text"
            case .integer: "an integer"
            case .number: "a number"
            case .flag: "true or false"
            case .object: "an object"
            case .list: "a list"
            case .sound: "text or an object"
            }
        }
    }

    /// These reach devices of all platforms, or decide how.
    private static let common: [String: Kind] = [
        "notif_id": .text, "tokens": .list, "to": .text, "platform": .integer, "topic": .text,
        "message": .text, "title": .text, "image": .text, "priority": .text, "sound": .sound,
        "data": .object, "condition": .text, "production": .flag, "development": .flag,
    ]
    /// Also through FCM, whose message has a part for Apple.
    private static let apple: [String: Kind] = [
        "content_available": .flag, "mutable_content": .flag, "expiration": .integer,
        "collapse_id": .text, "push_type": .text, "badge": .integer, "category": .text,
        "thread-id": .text, "thread_id": .text, "url-args": .list, "alert": .object,
        "name": .text, "volume": .number, "interruption_level": .text,
    ]
    private static let activity: [String: Kind] = [
        "content-state": .object, "timestamp": .integer, "event": .text, "stale-date": .integer,
        "dismissal-date": .integer, "attributes-type": .text, "attributes": .object,
        "relevance-score": .number,
    ]
    private static let android: [String: Kind] = [
        "notification": .object, "android": .object, "webpush": .object, "apns": .object,
        "fcm_options": .object, "collapse_key": .text, "time_to_live": .integer,
        "restricted_package_name": .text, "dry_run": .flag,
    ]
    private static let huawei: [String: Kind] = [
        "huawei_notification": .object, "huawei_data": .text, "huawei_collapse_key": .integer,
        "huawei_ttl": .text, "bi_tag": .text, "fast_app_target": .integer,
    ]

    private static let carried = [common, apple, activity, android, huawei].reduce(into: [:]) {
        $0.merge($1) { one, _ in one }
    }

    /// Whether a field changes anything for a platform.
    static func carries(_ name: String, platform: String) -> Bool {
        let own =
            switch platform {
            case "ios": [common, apple, activity]
            case "huawei": [common, huawei]
            default: [common, apple, android]
            }
        return own.contains { $0[name] != nil }
    }

    /// These have no counterpart here, and change nothing; the README says why.
    private static let useless = [
        "api_key", "apns_id", "app_id", "app_secret", "delay_while_idle", "retry",
    ]

    /// All that may be ignored: also those of another platform.
    static let ignored =
        useless + [apple, activity, android, huawei].flatMap { $0.keys }.sorted()

    /// Who receives it, and credentials: not part of the event.
    static let kept: Set = ["tokens", "to", "api_key", "app_id", "app_secret"]

    /// Throws for the first field of a wrong type; null counts as missing.
    static func check(_ push: JSON) throws(Reject) {
        for (name, value) in push.members {
            guard let kind = carried[name], value.kind != .null, !kind.fits(value) else {
                continue
            }
            throw Reject(.wrongType, "\(name) must be \(kind.words)")
        }
    }
}

extension JSON {
    /// An integer, also one that is written as text.
    var wholeNumber: Int64? { integer ?? string.flatMap { Int64($0) } }

    /// The text of a member; empty if it is missing.
    func words(_ name: String) -> String { self[name]?.scalarText ?? "" }
}
