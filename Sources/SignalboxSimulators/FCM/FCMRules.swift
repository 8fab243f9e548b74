internal import SignalboxCore

/// An error in FCM's format.
struct FCMError {
    var status: Int
    /// `errorCode` of the FcmError detail; empty: no such detail.
    var code: String
    var message: String
    /// A field that a BadRequest detail complains of; empty: no such detail.
    var field = ""

    var answer: ProviderAnswer {
        var details: [JSONValue] = []
        if !code.isEmpty {
            details.append(
                [
                    "@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError",
                    "errorCode": .string(code),
                ])
        }
        if !field.isEmpty {
            let violation: JSONValue = ["field": .string(field), "description": .string(message)]
            details.append(
                [
                    "@type": "type.googleapis.com/google.rpc.BadRequest",
                    "fieldViolations": [violation],
                ])
        }
        let error: JSONValue = [
            "code": .integer(Int64(status)), "message": .string(message), "status": .string(word),
            "details": .array(details),
        ]
        return ProviderAnswer(
            status: status, reason: code.isEmpty ? word : code,
            headers: [Attribute("content-type", "application/json")],
            body: Array(JSONValue.object([.init("error", error)]).text.utf8))
    }

    private var word: String {
        switch status {
        case 400: "INVALID_ARGUMENT"
        case 401: "UNAUTHENTICATED"
        case 403: "PERMISSION_DENIED"
        case 404: "NOT_FOUND"
        case 429: "RESOURCE_EXHAUSTED"
        case 503: "UNAVAILABLE"
        default: "INTERNAL"
        }
    }
}

/// What FCM requires of a message.
enum FCMRules {
    private static let messageFields: Set = [
        "token", "topic", "condition", "fid", "name", "notification", "data", "android", "apns",
        "webpush", "fcm_options",
    ]
    private static let androidFields: Set = [
        "collapse_key", "priority", "ttl", "restricted_package_name", "data", "notification",
        "fcm_options", "direct_boot_ok", "bandwidth_constrained_ok", "restricted_satellite_ok",
    ]
    private static let bytesMax = 4096
    /// The approximate size of FCM's own members in a payload for Apple.
    private static let addedForApple = 200

    static func error(in body: JSONValue) -> FCMError? {
        guard case .object(let top) = body else {
            return invalid("", "Invalid JSON payload received.")
        }
        for member in top where member.key != "message" && member.key != "validate_only" {
            return invalid(member.key, "Unknown name \"\(member.key)\"")
        }
        guard case .object(let members) = body["message"], let message = body["message"] else {
            return invalid("message", "Message is missing.")
        }
        for member in members where !messageFields.contains(member.key) {
            return invalid("message.\(member.key)", "Unknown name \"\(member.key)\"")
        }
        let targets = ["token", "topic", "condition", "fid"].filter { message[$0] != nil }
        guard targets.count == 1 else {
            return invalid("message", "Exactly one of token, topic, condition or fid is needed.")
        }
        if let token = message["token"], token.string?.isEmpty != false {
            return FCMError(
                status: 400, code: "INVALID_ARGUMENT",
                message: "The registration token is not a valid FCM registration token")
        }
        return dataError(message) ?? androidError(message["android"])
    }

    private static func dataError(_ message: JSONValue) -> FCMError? {
        var bytes = 0
        if case .object(let members) = message["data"] {
            for member in members {
                guard let text = member.value.string else {
                    return invalid("message.data[0].value", "Data values must be strings.")
                }
                let key = member.key
                if key == "from" || key == "message_type" || key.hasPrefix("google")
                    || key.hasPrefix("gcm")
                {
                    return invalid("message.data", "Invalid data payload key: \(key)")
                }
                bytes += key.utf8.count + text.utf8.count
            }
        }
        for field in ["title", "body"] {
            bytes += message["notification"]?[field]?.string?.utf8.count ?? 0
        }
        guard bytes <= bytesMax else { return invalid("message", "Message is too big.") }
        guard let apple = message["apns"]?["payload"] else { return nil }
        // The JSON for Apple contains all of these and FCM's own members.
        let parts = [apple, message["notification"], message["data"]]
        let json = parts.reduce(addedForApple) { $0 + ($1?.text.utf8.count ?? 0) }
        return json <= bytesMax ? nil : invalid("message.apns.payload", "Message is too big.")
    }

    private static func androidError(_ android: JSONValue?) -> FCMError? {
        guard let android else { return nil }
        guard case .object(let members) = android else {
            return invalid("message.android", "Not an object.")
        }
        for member in members where !androidFields.contains(member.key) {
            return invalid("message.android.\(member.key)", "Unknown name \"\(member.key)\"")
        }
        if let priority = android["priority"]?.string, priority != "HIGH", priority != "NORMAL" {
            return invalid("message.android.priority", "Invalid value.")
        }
        if let ttl = android["ttl"]?.string {
            guard ttl.hasSuffix("s"), let seconds = Double(ttl.dropLast()),
                (0...2_419_200).contains(seconds)
            else { return invalid("message.android.ttl", "Invalid duration.") }
        }
        return nil
    }

    private static func invalid(_ field: String, _ message: String) -> FCMError {
        FCMError(status: 400, code: "INVALID_ARGUMENT", message: message, field: field)
    }
}
