import SignalboxPluginKit

/// What a device's token names: one installation; or, as `topic:NAME` and `condition:EXPRESSION`, all that have subscribed.
enum Audience {
    case token
    case topic(String)
    case condition(String)
    /// FCM would refuse it.
    case malformed

    /// FCM takes no more topics in a condition.
    private static let topicsMax = 5

    init(_ token: Span<UInt8>) {
        self = .token
        // No token has a colon so early: they begin with 22 letters.
        guard token.count > 5, token[5] == UInt8(ascii: ":") || token[0] == UInt8(ascii: "c")
        else { return }
        let text = String(decoding: token.indices.map { token[$0] }, as: UTF8.self)
        if text.hasPrefix("topic:") {
            let name = text.dropFirst("topic:".count)
            self = Self.isTopic(name) ? .topic(String(name)) : .malformed
        } else if text.hasPrefix("condition:") {
            let words = text.dropFirst("condition:".count)
            let count = words.split(separator: " ").count { $0.hasPrefix("topics") }
            self =
                (1...Self.topicsMax).contains(count) ? .condition(String(words)) : .malformed
        }
    }

    private static func isTopic(_ name: Substring) -> Bool {
        (1...900).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                    || "-_.~%".utf8.contains(byte)
            }
    }
}
