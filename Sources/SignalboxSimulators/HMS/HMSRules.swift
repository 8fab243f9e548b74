internal import SignalboxCore

/// An answer in Push Kit's format.
struct HMSAnswer {
    var status: Int
    /// `80000000` and others; empty: the answer of a server in front of Push Kit.
    var code: String
    var message: String

    func answer(_ number: Int) -> ProviderAnswer {
        guard !code.isEmpty else {
            return ProviderAnswer(status: status, reason: message, body: Array(message.utf8))
        }
        let json: JSONValue = [
            "code": .string(code), "msg": .string(message), "requestId": .string("sim-\(number)"),
        ]
        return ProviderAnswer(
            status: status, reason: code == "80000000" ? "" : code,
            headers: [Attribute("content-type", "application/json")], body: Array(json.text.utf8))
    }
}

/// What Push Kit requires of a message.
enum HMSRules {
    private static let messageFields: Set = [
        "token", "topic", "condition", "notification", "data", "android", "apns", "webpush",
    ]
    private static let androidFields: Set = [
        "bi_tag", "category", "collapse_key", "data", "fast_app_target", "notification",
        "receipt_id", "target_user_type", "ttl", "urgency",
    ]
    private static let bytesMax = 4096
    private static let tokensMax = 1000
    private static let ttlSecondsMax = 1_296_000

    static func error(in body: JSONValue, bytes: Int) -> HMSAnswer? {
        guard case .object(let top) = body else { return structure("the body is no JSON object") }
        for member in top where !["message", "validate_only", "review"].contains(member.key) {
            return structure("unknown field \(member.key)")
        }
        guard case .object(let members) = body["message"], let message = body["message"] else {
            return structure("message is missing")
        }
        for member in members where !messageFields.contains(member.key) {
            return structure("unknown field message.\(member.key)")
        }
        let targets = ["token", "topic", "condition"].filter { message[$0] != nil }
        guard targets.count == 1 else {
            return structure("one of token, topic and condition is needed")
        }
        var tokenBytes = 0
        if let given = message["token"] {
            guard case .array(let items) = given else { return structure("token is no list") }
            guard (1...tokensMax).contains(items.count) else {
                return refused("80300010", "wrong number of tokens")
            }
            let tokens = items.compactMap(\.string)
            guard tokens.count == items.count, !tokens.contains("") else {
                return refused("80300007", "All the tokens are invalid")
            }
            tokenBytes = tokens.reduce(0) { $0 + $1.utf8.count }
        }
        guard bytes - tokenBytes <= bytesMax else {
            return refused("80300008", "The message body is too large")
        }
        return payloadError(message) ?? androidError(message["android"])
    }

    private static func payloadError(_ message: JSONValue) -> HMSAnswer? {
        for data in [message["data"], message["android"]?["data"]] {
            guard let data else { continue }
            guard data.string != nil else { return structure("data must be text") }
        }
        let own = message["android"]?["notification"]
        guard message["notification"] != nil || own != nil else {
            let hasData = (message["android"]?["data"] ?? message["data"])?.string?.isEmpty == false
            return hasData ? nil : structure("there is neither data nor a notification")
        }
        guard let own else { return structure("android.notification is missing") }
        for field in ["title", "body"] {
            let text = own[field] ?? message["notification"]?[field]
            guard text?.string?.isEmpty == false else { return structure("\(field) is missing") }
        }
        return clickError(own["click_action"]) ?? badgeError(own["badge"])
    }

    private static func clickError(_ action: JSONValue?) -> HMSAnswer? {
        func has(_ field: String) -> Bool { action?[field]?.string?.isEmpty == false }
        switch action?["type"]?.integer {
        case 1:
            return has("intent") || has("action") ? nil : structure("intent or action is missing")
        case 2:
            let isSecure = action?["url"]?.string?.hasPrefix("https://") == true
            return isSecure ? nil : structure("url must begin with https")
        case 3: return nil
        default: return structure("click_action is missing or has no known type")
        }
    }

    private static func badgeError(_ badge: JSONValue?) -> HMSAnswer? {
        guard let badge else { return nil }
        guard badge["class"]?.string?.isEmpty == false else { return structure("class is missing") }
        if let number = badge["set_num"], !(0..<100).contains(number.integer ?? -1) {
            return structure("set_num must be 0 to 99")
        }
        return nil
    }

    private static func androidError(_ android: JSONValue?) -> HMSAnswer? {
        guard let android else { return nil }
        guard case .object(let members) = android else { return structure("android is no object") }
        for member in members where !androidFields.contains(member.key) {
            return structure("unknown field android.\(member.key)")
        }
        if let key = android["collapse_key"], !(-1...100).contains(key.integer ?? -2) {
            return refused("80100013", "collapse_key must be -1 to 100")
        }
        if let urgency = android["urgency"]?.string, urgency != "HIGH", urgency != "NORMAL" {
            return structure("urgency must be HIGH or NORMAL")
        }
        if let target = android["fast_app_target"], ![1, 2].contains(target.integer) {
            return structure("fast_app_target must be 1 or 2")
        }
        if let ttl = android["ttl"] {
            guard let text = ttl.string, text.hasSuffix("s"), let seconds = Int(text.dropLast()),
                (1...ttlSecondsMax).contains(seconds)
            else { return refused("80100004", "ttl must be 1s to \(ttlSecondsMax)s") }
        }
        return nil
    }

    private static func structure(_ message: String) -> HMSAnswer { refused("80100003", message) }

    /// With status 200, as clients of Push Kit must expect.
    private static func refused(_ code: String, _ message: String) -> HMSAnswer {
        HMSAnswer(status: 200, code: code, message: message)
    }
}
