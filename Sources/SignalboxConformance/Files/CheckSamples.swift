internal import Signalbox
internal import SignalboxCore
internal import SignalboxJSON

/// Samples by the plugin's author, which let a check reach further than made-up input.
///
/// docs/plugin-check.md lists the keys.
struct CheckSamples: Sendable {
    /// A request that the plugin must accept.
    struct Request: Sendable {
        var method: String
        var path: String
        var headers: [Attribute]
        var body: [UInt8]
    }

    /// An event for which the plugin must build something.
    struct SampleEvent: Sendable {
        var type: String
        var data: String
    }

    var requests: [Request] = []
    var events: [SampleEvent] = []
    var answers: [OfflineAnswer] = []
    /// `{n}` stands for the device's number; if nil, a hexadecimal token is made up.
    var token: String?
    var platform = "ios"
    var provider = ""
    var app = ""
    /// `{n}` stands for the device's number; if nil, a user is made up.
    var user: String?
    /// The time at which the clock is stopped; nil if it runs.
    var nowUnixMs: UInt64?

    init() {}

    init(_ json: JSONValue) {
        func members(_ key: String) -> [JSONValue] {
            guard case .array(let items) = json[key] else { return [] }
            return items
        }
        requests = members("requests").map {
            Request(
                method: $0["method"]?.string ?? "POST", path: $0["path"]?.string ?? "/",
                headers: Self.headers($0["headers"]), body: Self.bytes($0["body"]))
        }
        events = members("events").map {
            SampleEvent(
                type: $0["type"]?.string ?? "", data: ($0["data"] ?? .object([])).text)
        }
        answers = members("answers").map { OfflineAnswer($0) }
        let device = json["device"]
        token = device?["token"]?.string
        platform = device?["platform"]?.string ?? platform
        provider = device?["provider"]?.string ?? ""
        app = device?["app"]?.string ?? ""
        user = device?["user"]?.string
        nowUnixMs = json["now_unix_ms"]?.integer.flatMap { UInt64(exactly: $0) }
    }

    private static func headers(_ json: JSONValue?) -> [Attribute] {
        guard case .object(let members) = json else { return [] }
        return members.map { Attribute($0.key.lowercased(), $0.value.string ?? $0.value.text) }
    }

    /// A string is the body itself; any other value is sent as JSON.
    private static func bytes(_ json: JSONValue?) -> [UInt8] {
        guard let json else { return [] }
        return Array((json.string ?? json.text).utf8)
    }
}
