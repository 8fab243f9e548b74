internal import SignalboxCore

/// A refusal in Airship's format.
struct AirshipRefusal {
    var status: Int
    var code: Int64
    var error: String

    var answer: ProviderAnswer {
        let json: JSONValue = ["ok": false, "error": .string(error), "error_code": .integer(code)]
        return ProviderAnswer(
            status: status, reason: code == 0 ? error : String(code),
            headers: [Attribute("content-type", "application/json")], body: Array(json.text.utf8))
    }
}

/// What Airship requires of a push.
enum AirshipRules {
    private static let selectors: Set = [
        "channel", "ios_channel", "android_channel", "amazon_channel", "named_user", "tag",
        "segment", "device_token", "apid", "and", "or", "not",
    ]
    private static let platforms: Set = ["ios", "android", "amazon", "web", "email", "sms"]
    private static let topFields: Set = [
        "audience", "device_types", "notification", "options", "message", "in_app",
    ]

    /// The single target of a push; empty if it has another audience.
    static func target(of body: JSONValue) -> String {
        guard case .object(let members) = body["audience"], members.count == 1 else { return "" }
        return members[0].value.string ?? ""
    }

    static func refusal(of body: JSONValue) -> AirshipRefusal? {
        guard case .object(let top) = body else { return invalid("the body is no JSON object") }
        for member in top where !topFields.contains(member.key) {
            return invalid("unknown field \(member.key)")
        }
        return audienceRefusal(body["audience"]) ?? typesRefusal(body["device_types"])
            ?? notificationRefusal(body["notification"])
    }

    private static func audienceRefusal(_ audience: JSONValue?) -> AirshipRefusal? {
        if audience?.string == "all" { return nil }
        guard case .object(let members) = audience, members.count == 1,
            selectors.contains(members[0].key)
        else { return invalid("audience has no known selector") }
        let (key, value) = (members[0].key, members[0].value.string)
        guard value?.isEmpty != true else { return invalid("audience.\(key) is empty") }
        if key == "device_token", let value {
            let isToken = value.utf8.allSatisfy {
                (0x30...0x39).contains($0) || (0x41...0x46).contains($0)
            }
            return isToken ? nil : invalid("audience.device_token must be upper-case hexadecimal")
        }
        return nil
    }

    private static func typesRefusal(_ types: JSONValue?) -> AirshipRefusal? {
        if types?.string == "all" { return nil }
        guard case .array(let items) = types, !items.isEmpty,
            items.allSatisfy({ platforms.contains($0.string ?? "") })
        else { return invalid("device_types is missing or has an unknown type") }
        return nil
    }

    private static func notificationRefusal(_ notification: JSONValue?) -> AirshipRefusal? {
        guard case .object(let members) = notification else {
            return invalid("notification is missing")
        }
        for member in members where member.key != "alert" {
            guard platforms.contains(member.key) || member.key == "actions" else {
                return invalid("unknown field notification.\(member.key)")
            }
            guard member.key != "ios", case .object(let extras) = member.value["extra"] else {
                continue
            }
            for extra in extras where extra.value.string == nil {
                return invalid("notification.\(member.key).extra.\(extra.key) must be text")
            }
        }
        if let alert = notification?["alert"], alert.string == nil {
            return invalid("notification.alert must be text")
        }
        return nil
    }

    private static func invalid(_ error: String) -> AirshipRefusal {
        AirshipRefusal(status: 400, code: 40001, error: error)
    }
}
