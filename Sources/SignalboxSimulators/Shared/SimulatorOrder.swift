public import SignalboxCore

/// An order to deviate from the real provider's behaviour.
public enum SimulatorOrder: Sendable, Hashable {
    /// Answers requests for these tokens with an error; without tokens, every request.
    ///
    /// `times`: how often; nil for always.
    ///
    /// `retryAfter`: seconds for the header retry-after; nil for no header.
    case fail(
        tokens: [String], status: Int, reason: String, times: Int?, retryAfter: Int? = nil)
    /// Sends GOAWAY with this reason after so many further requests.
    ///
    /// `answer`: the last request is still answered; otherwise the sender has to send it again.
    case goAway(after: Int, reason: String, answer: Bool)
    /// Refuses the next streams with REFUSED_STREAM.
    case refuse(count: Int)
    /// Resets the next streams midway: those for these tokens, or for any.
    case reset(tokens: [String] = [], count: Int)
    /// Never answers the next requests.
    case stall(count: Int)
    /// Cuts the connection on each of the next requests.
    case cut(count: Int)
    /// Delays every answer by this time.
    case delay(ms: Int)
    /// Announces another stream limit, also on open connections.
    case streams(max: UInt32)
    /// Stops listening; `cut`: also cuts open connections.
    case closeListener(cut: Bool)
    /// Listens again on the same port.
    case openListener
    /// Rejects all provider tokens and access tokens issued until now.
    case expireCredentials
    /// Forgets all orders.
    case clear

    /// The control API's orders, each with its keys.
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

    /// Names a key that the order does not have; nil if all are known.
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

    /// Parses an order of the control API, or says what is wrong with it.
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

/// Why an order cannot be parsed.
public struct OrderFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Names the fault and the accepted form.
    public let message: String

    /// The message.
    public var description: String { message }
}
