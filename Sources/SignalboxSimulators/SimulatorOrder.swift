public import SignalboxCore

/// An order to behave differently from the real provider.
public enum SimulatorOrder: Sendable, Hashable {
    /// Answers requests for these tokens with an error; `times` nil: always. No token: every request.
    ///
    /// `retryAfter`: seconds for the header retry-after; nil: no header.
    case fail(
        tokens: [String], status: Int, reason: String, times: Int?, retryAfter: Int? = nil)
    /// After so many further requests sends GOAWAY with that reason.
    ///
    /// `answer`: the last request is still answered; else it is the sender's to send again.
    case goAway(after: Int, reason: String, answer: Bool)
    /// Refuses the next streams: REFUSED_STREAM.
    case refuse(count: Int)
    /// Resets the next streams in the middle; those for these tokens, or of any.
    case reset(tokens: [String] = [], count: Int)
    /// Never answers the next requests.
    case stall(count: Int)
    /// Cuts the connection of each of the next requests.
    case cut(count: Int)
    /// Answers every request so much later.
    case delay(ms: Int)
    /// Announces another limit of streams, on open connections too.
    case streams(max: UInt32)
    /// Listens no more; `cut`: open connections are cut as well.
    case closeListener(cut: Bool)
    /// Listens again on the same port.
    case openListener
    /// From now on refuses the tokens and access tokens that were made before.
    case expireCredentials
    /// Forgets all orders.
    case clear

    /// The orders of the control API, each with its keys.
    private static let known: KeyValuePairs = [
        "fail": ["tokens", "status", "reason", "times", "retry_after"],
        "goaway": ["after", "reason", "answer"],
        "refuse": ["count"],
        "reset": ["tokens", "count"],
        "stall": ["count"],
        "cut": ["count"],
        "delay": ["ms"],
        "streams": ["max"],
        "close_listener": ["cut"],
        "open_listener": [],
        "expire_credentials": [],
        "clear": [],
    ]

    /// Names a key that the order does not have; nil: it has them all.
    private static func unknownKey(_ json: JSONValue) -> OrderFault? {
        guard case .object(let members) = json, let name = json["order"]?.string,
            let own = known.first(where: { $0.key == name })?.value
        else { return nil }
        let keys = ["order"] + own
        guard let stray = members.first(where: { !keys.contains($0.key) })?.key else { return nil }
        let hint = Suggestion.hint(for: stray, among: keys)
        return OrderFault(
            message: "the order \(name) has no key \"\(stray)\"\(hint); its keys are "
                + keys.joined(separator: ", "))
    }

    /// Reads an order of the control API, or says what is wrong with it.
    public static func parse(_ json: JSONValue) -> Result<SimulatorOrder, OrderFault> {
        func count(_ key: String = "count") -> Int { Int(json[key]?.integer ?? 1) }
        func tokens() -> [String] {
            if case .array(let items) = json["tokens"] { items.compactMap(\.string) } else { [] }
        }
        if let fault = unknownKey(json) { return .failure(fault) }
        switch json["order"]?.string {
        case "fail":
            guard let status = json["status"]?.integer, (200...599).contains(status) else {
                return .failure(OrderFault(message: "fail needs a status from 200 to 599"))
            }
            return .success(
                .fail(
                    tokens: tokens(), status: Int(status), reason: json["reason"]?.string ?? "",
                    times: json["times"]?.integer.map { Int($0) },
                    retryAfter: json["retry_after"]?.integer.map { Int($0) }))
        case "goaway":
            return .success(
                .goAway(
                    after: Int(json["after"]?.integer ?? 0), reason: json["reason"]?.string ?? "",
                    answer: json["answer"] != .bool(false)))
        case "refuse": return .success(.refuse(count: count()))
        case "reset":
            return .success(.reset(tokens: tokens(), count: count()))
        case "stall": return .success(.stall(count: count()))
        case "cut": return .success(.cut(count: count()))
        case "delay": return .success(.delay(ms: count("ms")))
        case "streams": return .success(.streams(max: UInt32(clamping: count("max"))))
        case "close_listener": return .success(.closeListener(cut: json["cut"] != .bool(false)))
        case "open_listener": return .success(.openListener)
        case "expire_credentials": return .success(.expireCredentials)
        case "clear": return .success(.clear)
        default:
            return .failure(
                OrderFault(
                    message: "order must be one of "
                        + known.map(\.key).joined(separator: ", ")))
        }
    }
}

/// Why an order cannot be read.
public struct OrderFault: Error, Sendable, Hashable {
    /// Names the fault and what would do.
    public let message: String
}
