internal import SignalboxCore

/// What Push Kit's API v3 requires of a message.
enum HMSScenarioRules {
    private static let categories: Set = [
        "IM", "VOIP", "MISS_CALL", "SUBSCRIPTION", "TRAVEL", "HEALTH", "WORK", "ACCOUNT", "EXPRESS",
        "FINANCE", "DEVICE_REMINDER", "MAIL", "MARKETING",
    ]
    private static let bytesMax = 4096
    private static let ttlSecondsMax = 1_296_000

    static func error(in body: JSONValue, type: String?, bytes: Int) -> HMSAnswer? {
        guard case .object(let top) = body else { return structure("the body is no JSON object") }
        for member in top where !["payload", "target", "pushOptions"].contains(member.key) {
            return structure("unknown field \(member.key)")
        }
        guard case .array(let items) = body["target"]?["token"], (1...1000).contains(items.count)
        else { return refused("80300010", "wrong number of tokens") }
        let tokens = items.compactMap(\.string)
        guard tokens.count == items.count, !tokens.contains("") else {
            return refused("80300007", "All the tokens are invalid")
        }
        let tokenBytes = tokens.reduce(0) { $0 + $1.utf8.count }
        guard bytes - tokenBytes <= bytesMax else {
            return refused("80300008", "The message body is too large")
        }
        if let ttl = body["pushOptions"]?["ttl"],
            !(1...Int64(ttlSecondsMax)).contains(ttl.integer ?? 0)
        {
            return structure("ttl must be 1 to \(ttlSecondsMax)")
        }
        if let key = body["pushOptions"]?["collapseKey"], !(-1...100).contains(key.integer ?? -2) {
            return refused("80100013", "collapseKey must be -1 to 100")
        }
        switch type {
        case "0": return notificationError(body["payload"]?["notification"])
        case "6":
            let data = body["payload"]?["extraData"]?.string
            return data?.isEmpty == false ? nil : structure("extraData is missing")
        default: return structure("push-type is missing or unknown")
        }
    }

    private static func notificationError(_ notification: JSONValue?) -> HMSAnswer? {
        guard let notification else { return structure("notification is missing") }
        guard categories.contains(notification["category"]?.string ?? "") else {
            return structure("category is missing or unknown")
        }
        for field in ["title", "body"] where notification[field]?.string?.isEmpty != false {
            return structure("\(field) is missing")
        }
        let action = notification["clickAction"]
        switch action?["actionType"]?.integer {
        case 0: break
        case 1:
            guard action?["action"] != nil || action?["uri"] != nil else {
                return structure("action or uri is missing")
            }
        default: return structure("clickAction is missing or has no known actionType")
        }
        if let data = action?["data"] {
            guard case .object = data else {
                return structure("clickAction.data must be an object")
            }
        }
        if let number = notification["badge"]?["setNum"], !(0..<100).contains(number.integer ?? -1)
        {
            return structure("badge.setNum must be 0 to 99")
        }
        return nil
    }

    private static func structure(_ message: String) -> HMSAnswer { refused("80100003", message) }

    /// With status 200, as clients of Push Kit must expect.
    private static func refused(_ code: String, _ message: String) -> HMSAnswer {
        HMSAnswer(status: 200, code: code, message: message)
    }
}
