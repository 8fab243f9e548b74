public import SignalboxCore

/// A request that a simulator has answered, or been told not to answer.
public struct ReceivedPush: Sendable {
    /// `apns` or `fcm`.
    public var provider: String
    /// 1, 2, ... in order of arrival.
    public var number: Int
    /// The device's token.
    public var token: String
    /// With the token in it for APNs.
    public var path: String
    /// Names in lower case; `authorization` is left out.
    public var headers: [Attribute]
    /// The payload or message.
    public var body: JSONValue
    /// The connection that it came on.
    public var connection: UInt64
    /// Subject of the client's certificate; empty: it showed none.
    public var clientCertificate: String
    /// The answer; 0: none was given, by order.
    public var status: Int
    /// The reason or error code in the answer, or the name of the order.
    public var reason: String
    /// When it arrived, in Unix milliseconds.
    public var unixMs: UInt64

    /// The first value of a header field, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.key == name }?.value }

    /// For the control API.
    public var json: JSONValue {
        .object([
            .init("number", .integer(Int64(number))), .init("provider", .string(provider)),
            .init("token", .string(token)), .init("path", .string(path)),
            .init(
                "headers", .object(headers.map { JSONValue.Member($0.key, .string($0.value)) })),
            .init("body", body), .init("connection", .integer(Int64(clamping: connection))),
            .init("status", .integer(Int64(status))), .init("reason", .string(reason)),
            .init("unix_ms", .integer(Int64(clamping: unixMs))),
        ])
    }
}
