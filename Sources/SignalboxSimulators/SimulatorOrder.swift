public import SignalboxCore

/// An order to behave differently from the real provider.
public enum SimulatorOrder: Sendable, Hashable {
    /// Answers requests for these tokens with an error; `times` nil: always. No token: every request.
    case fail(tokens: [String], status: Int, reason: String, times: Int?)
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

    /// Reads an order of the control API, or says what is wrong with it.
    public static func parse(_ json: JSONValue) -> Result<SimulatorOrder, OrderFault> {
        func count(_ key: String = "count") -> Int { Int(json[key]?.integer ?? 1) }
        func tokens() -> [String] {
            if case .array(let items) = json["tokens"] { items.compactMap(\.string) } else { [] }
        }
        switch json["order"]?.string {
        case "fail":
            guard let status = json["status"]?.integer, (200...599).contains(status) else {
                return .failure(OrderFault(message: "fail needs a status from 200 to 599"))
            }
            return .success(
                .fail(
                    tokens: tokens(), status: Int(status), reason: json["reason"]?.string ?? "",
                    times: json["times"]?.integer.map { Int($0) }))
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
                    message: "order must be one of fail, goaway, refuse, reset, stall, cut, delay, "
                        + "streams, close_listener, open_listener, expire_credentials, clear"))
        }
    }
}

/// Why an order cannot be read.
public struct OrderFault: Error, Sendable, Hashable {
    /// Names the fault and what would do.
    public let message: String
}
