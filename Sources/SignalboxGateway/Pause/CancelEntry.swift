package import SignalboxCore
package import SignalboxDispatch
internal import SignalboxJSON

/// An operator's order to end deliveries instead of sending them.
package struct CancelEntry: Sendable, Equatable {
    /// The beginning of its key in the store.
    package static let prefix = "cancel/"
    /// How long an order is kept, in milliseconds: no delivery waits longer.
    static let keptMs: UInt64 = 31 * 86_400_000
    /// Most orders at a time.
    package static let countMax = 100

    package let id: String
    package let order: CancelOrder
    /// Who gave it, as the caller said.
    package let by: String

    package var key: String { Self.prefix + id }

    package var json: JSONValue {
        let names: [(String, String?)] = [
            ("sender", order.sender), ("route", order.route), ("user", order.user),
        ]
        var members: [JSONValue.Member] = [.init("id", .string(id))]
        members += names.compactMap { name, value in value.map { .init(name, .string($0)) } }
        if let event = order.eventID {
            members.append(.init("event", .integer(Int64(clamping: event))))
        }
        members += [
            .init("before_unix_ms", .integer(Int64(clamping: order.beforeUnixMs))),
            .init("by", .string(by)),
        ]
        return .object(members)
    }

    package init(id: String, order: CancelOrder, by: String) {
        self.id = id
        self.order = order
        self.by = by
    }

    /// Reads an entry of the store; nil if it is of another kind or damaged.
    package init?(key: String, _ bytes: [UInt8]) {
        guard key.hasPrefix(Self.prefix), let json = try? JSONValue.parse(bytes),
            let before = json["before_unix_ms"]?.integer
        else { return nil }
        var order = CancelOrder(beforeUnixMs: UInt64(clamping: before))
        order.sender = json["sender"]?.string
        order.route = json["route"]?.string
        order.user = json["user"]?.string
        order.eventID = json["event"]?.integer.map { UInt64(clamping: $0) }
        self.init(
            id: String(key.dropFirst(Self.prefix.count)), order: order,
            by: json["by"]?.string ?? "")
    }
}
