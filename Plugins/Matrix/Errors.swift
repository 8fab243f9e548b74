import SignalboxPluginKit

/// Why a whole request is rejected, as Matrix writes it.
struct Fault: Error {
    /// The status of the answer.
    let status: Int
    /// `M_BAD_JSON`.
    let code: String
    /// For people: names the member and what it must be.
    let words: String

    static let notJSON = Fault(status: 400, code: "M_NOT_JSON", words: "the body is not JSON")

    static func missing(_ path: String) -> Fault {
        Fault(status: 400, code: "M_MISSING_PARAM", words: "\(path) is missing")
    }

    static func wrong(_ path: String, _ what: String) -> Fault {
        Fault(status: 400, code: "M_BAD_JSON", words: "\(path) must be \(what)")
    }

    static func tooMany(_ count: Int, limit: Int) -> Fault {
        Fault(
            status: 413, code: "M_TOO_LARGE",
            words: "notification.devices has \(count) elements; the limit is \(limit)")
    }

    var error: PluginError { PluginError(status == 413 ? .tooLarge : .invalid, words) }

    var body: [UInt8] {
        var out = JSONWriter()
        out.object { out in
            out.member("errcode", code)
            out.member("error", words)
        }
        return out.bytes
    }
}

/// Why one device of a request gets no push; the raw value is a metric label.
enum Reject: String {
    case noPushkey = "no_pushkey"
    case unknownApp = "unknown_app"
    case badPushkey = "bad_pushkey"
    case wrongType = "wrong_type"
    case deadPushkey = "dead_pushkey"
    case duplicate
    case noCounts = "no_counts"

    var detail: String {
        switch self {
        case .noPushkey: "a device has no app_id or no pushkey"
        case .unknownApp: "config.apps has no such app_id"
        case .badPushkey: "a pushkey is over 512 bytes, or not base64 of a token"
        case .wrongType: "a device's data or tweaks is not an object"
        case .deadPushkey: "the provider has reported the token dead"
        case .duplicate: "a device is named twice"
        case .noCounts: "a notification has neither event_id nor counts"
        }
    }
}
