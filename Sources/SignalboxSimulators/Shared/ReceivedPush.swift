public import SignalboxCore

/// A request that a simulator has answered, or left unanswered on order.
public struct ReceivedPush: Sendable {
    /// `apns`, `fcm`, `hms`, `airship`, `telegram` or `provider`.
    public var provider: String
    /// Counts from 1 in order of arrival.
    public var number: Int
    /// The device's token.
    public var token: String
    /// Contains the token for APNs.
    public var path: String
    /// Names are in lower case; `authorization` is left out.
    public var headers: [Attribute]
    /// The payload or message.
    public var body: JSONValue
    /// The connection of the request.
    public var connection: UInt64
    /// Subject of the client's certificate; empty: none.
    public var clientCertificate: String
    /// The status of the answer; 0: unanswered on order.
    public var status: Int
    /// The reason or error code in the answer, or the name of the order.
    public var reason: String
    /// When it arrived, in Unix milliseconds.
    public var unixMs: UInt64

    /// The first value of a header field, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.key == name }?.value }

    /// The form for the control API.
    public var json: JSONValue {
        [
            "number": .integer(Int64(number)), "provider": .string(provider),
            "token": .string(token), "path": .string(path),
            "headers": .object(headers.map { JSONValue.Member($0.key, .string($0.value)) }),
            "body": body, "connection": .integer(Int64(clamping: connection)),
            "status": .integer(Int64(status)), "reason": .string(reason),
            "unix_ms": .integer(Int64(clamping: unixMs)),
        ]
    }
}
