internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxJSON

/// An order of an operator to end deliveries instead of sending them.
struct CancelEntry: Sendable, Equatable {
    /// The beginning of its key in the store.
    static let prefix = "cancel/"
    /// How long an order is kept, in milliseconds: nothing waits longer than that.
    static let keptMs: UInt64 = 31 * 86_400_000
    /// Most orders at a time.
    static let countMax = 100

    let id: String
    let order: CancelOrder
    /// Who gave it, as the caller said.
    let by: String

    var key: String { Self.prefix + id }

    var json: JSONValue {
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

    init(id: String, order: CancelOrder, by: String) {
        self.id = id
        self.order = order
        self.by = by
    }

    /// From the store; nil: it is something else, or damaged.
    init?(key: String, _ bytes: [UInt8]) {
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
