import SignalboxPluginKit

/// One element of `notifications`: who gets it, and the event it becomes.
struct Push {
    static let platforms: [Int64: String] = [1: "ios", 2: "android", 3: "huawei"]

    /// As many as one event may have.
    private static let tokensMax = 10_000
    private static let tokenBytesMax = 4_096

    /// A caller that got no answer sends the same again within this time.
    private static let windowMs: UInt64 = 600_000

    let platform: String
    let tokens: [String]
    /// Tokens that were left out.
    let rejects: [Reject]
    /// The caller's name for it; may be empty.
    let id: String
    private let topic: String
    private let data: String

    init(_ push: JSON) throws(Reject) {
        guard push.kind == .object else {
            throw Reject(.notAnObject, "a notification must be an object")
        }
        try Fields.check(push)
        guard let number = push["platform"]?.wholeNumber, let name = Self.platforms[number] else {
            throw Reject(.unknownPlatform, "platform must be 1 (iOS), 2 (Android) or 3 (Huawei)")
        }
        platform = name
        id = push.words("notif_id")
        let isApple = name == "ios"
        if let fault = isApple ? LiveActivity.fault(push) : Self.reservedKey(push) {
            throw Reject(.unsendable, fault)
        }
        let to = push.words("to")
        let group = Self.group(push, to: to, isApple: isApple)
        guard group == nil || name == "android" else {
            throw Reject(.topic, "topics and conditions are for Android; send to tokens")
        }
        topic = isApple ? Self.app(push.words("topic"), pushType: push.words("push_type")) : ""
        (tokens, rejects) = try Self.tokens(
            push, to: group ?? (to.hasPrefix("/topics/") ? "" : to))
        var out = JSONWriter()
        out.object { out in
            for member in push.members where !Fields.kept.contains(member.key) {
                out.key(member.key)
                out.value(member.value)
            }
        }
        data = out.text
    }

    /// What FCM refuses in `data`; nil if it takes all.
    private static func reservedKey(_ push: JSON) -> String? {
        guard push["platform"]?.wholeNumber == 2 else { return nil }
        let key = push["data"]?.members.first { key, _ in
            key == "from" || key == "message_type" || key.hasPrefix("google")
                || key.hasPrefix("gcm")
        }
        return key.map { "data has the member \($0.key), which FCM refuses" }
    }

    /// Subscribers of a topic or condition, as FCM's plugin names them; nil if the push is for tokens alone.
    private static func group(_ push: JSON, to: String, isApple: Bool) -> String? {
        let (topic, condition) = (push.words("topic"), push.words("condition"))
        if to.hasPrefix("/topics/") { return "topic:\(to.dropFirst("/topics/".count))" }
        if isApple { return condition.isEmpty ? nil : "condition:\(condition)" }
        if !condition.isEmpty { return "condition:\(condition)" }
        return topic.isEmpty ? nil : "topic:\(topic)"
    }

    private static func tokens(
        _ push: JSON, to: String
    ) throws(Reject) -> ([String], [Reject]) {
        let given = push["tokens"]?.elements ?? []
        guard given.count < tokensMax else {
            throw Reject(.tooManyTokens, "tokens has \(given.count) elements; send 9,999 at most")
        }
        var tokens: [String] = []
        var rejects: [Reject] = []
        var seen: Set<String> = []
        for token in given.map(\.string) + (to.isEmpty ? [] : [to]) {
            guard let token, (1...tokenBytesMax).contains(token.utf8.count) else {
                rejects.append(Reject(.badToken, "a token must be text of 1 to 4096 bytes"))
                continue
            }
            guard seen.insert(token).inserted else {
                rejects.append(Reject(.duplicate, "a token is named twice"))
                continue
            }
            tokens.append(token)
        }
        guard !tokens.isEmpty else { throw Reject(.noTokens, "tokens must name a device") }
        return (tokens, rejects)
    }

    /// The app that an APNs topic names; the sender appends what the push type asks for.
    private static func app(_ topic: String, pushType: String) -> String {
        let suffixes = [
            "voip": ".voip", "complication": ".complication",
            "fileprovider": ".pushkit.fileprovider", "location": ".location-query",
            "liveactivity": ".push-type.liveactivity", "pushtotalk": ".voip-ptt",
            "widgets": ".push-type.widgets", "controls": ".push-type.controls",
        ]
        guard let suffix = suffixes[pushType], topic.hasSuffix(suffix) else { return topic }
        return String(topic.dropLast(suffix.count))
    }

    func event(app: String, receivedUnixMs: UInt64) -> Event {
        var event = Event(type: "push.requested", data: data)
        event.subject = id
        event.timeUnixMs = receivedUnixMs
        if !id.isEmpty {
            var print = Fingerprint()
            for text in [id, platform, data] + tokens { print.add(text) }
            event.dedupe = print.text
            event.dedupeWindowMs = Self.windowMs
        }
        event.recipients = tokens.map { token in
            var device = Device(platform: platform, token: token)
            device.app = topic.isEmpty ? app : topic
            return Recipient(device)
        }
        return event
    }
}
