internal import SignalboxCore
internal import SignalboxHTTP

/// What APNs requires of a request's headers.
enum APNsRules {
    /// Push types, each with the suffix of its topics.
    private static let suffixes = [
        "alert": "", "background": "", "voip": ".voip", "complication": ".complication",
        "fileprovider": ".pushkit.fileprovider", "mdm": "",
        "liveactivity": ".push-type.liveactivity", "location": ".location-query",
        "pushtotalk": ".voip-ptt", "widgets": ".push-type.widgets",
        "controls": ".push-type.controls",
    ]

    static func fault(
        in request: HTTP2ServerRequest, topics: Set<String>
    ) -> (status: Int, reason: String)? {
        let names = request.headers.map(\.key).filter { $0.hasPrefix("apns-") }
        guard Set(names).count == names.count else { return (400, "DuplicateHeaders") }
        if let id = request.header("apns-id"), !isUUID(id) { return (400, "BadMessageId") }
        if let expiration = request.header("apns-expiration"), UInt64(expiration) == nil {
            return (400, "BadExpirationDate")
        }
        let priority = request.header("apns-priority") ?? "10"
        guard ["1", "5", "10"].contains(priority) else { return (400, "BadPriority") }
        if let collapse = request.header("apns-collapse-id"), collapse.utf8.count > 64 {
            return (400, "BadCollapseId")
        }
        guard let type = request.header("apns-push-type"), let suffix = suffixes[type] else {
            return (400, "InvalidPushType")
        }
        if type == "background", priority == "10" { return (400, "BadPriority") }
        guard let topic = request.header("apns-topic"), !topic.isEmpty else {
            return (400, "MissingTopic")
        }
        guard topic.hasSuffix(suffix) else { return (400, "BadTopic") }
        let bundle = String(topic.dropLast(suffix.count))
        guard topics.isEmpty || topics.contains(bundle) else { return (400, "TopicDisallowed") }
        return nil
    }

    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.allSatisfy { $0.allSatisfy { $0.isHexDigit && !$0.isUppercase } }
    }
}
