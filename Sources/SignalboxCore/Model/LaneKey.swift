/// Identifies a lane: the deliveries of one kind for one sender and app.
public struct LaneKey: Sendable, Hashable, Comparable {
    /// The sender's plugin instance.
    public var sender: String
    /// Bundle id or project; empty for the default app.
    public var app: String
    /// Kind of its deliveries.
    public var kind: DeliveryKind

    /// Makes a key.
    public init(sender: String, app: String, kind: DeliveryKind = .push) {
        self.sender = sender
        self.app = app
        self.kind = kind
    }

    /// The name shown in metrics and in the admin API.
    public var name: String { kind == .push ? sender : "\(sender) reports" }

    /// Ordered by name, then app.
    public static func < (a: LaneKey, b: LaneKey) -> Bool { (a.name, a.app) < (b.name, b.app) }

    /// The lane of a delivery.
    public init(_ delivery: Delivery) {
        self.init(sender: delivery.sender, app: delivery.device.app, kind: delivery.kind)
    }
}

extension LaneKey {
    private static let fewMax = 4

    /// Splits deliveries by lane, keeping their order; most events have one or two lanes.
    public static func parts(
        of deliveries: [Delivery]
    ) -> [(key: LaneKey, deliveries: [Delivery])] {
        guard let first = deliveries.first else { return [] }
        let only = LaneKey(first)
        if deliveries.allSatisfy({ only.isLane(of: $0) }) { return [(only, deliveries)] }
        var parts: [(key: LaneKey, deliveries: [Delivery])] = []
        parts.reserveCapacity(2)
        var places: [LaneKey: Int] = [:]
        var last = 0
        for delivery in deliveries {
            if last < parts.count, parts[last].key.isLane(of: delivery) {
                parts[last].deliveries.append(delivery)
                continue
            }
            let key = LaneKey(delivery)
            // A few are compared one by one.
            let few = parts.prefix(fewMax)
            if let known = few.firstIndex(where: { $0.key == key })
                ?? (places.isEmpty ? nil : places[key])
            {
                last = known
                parts[last].deliveries.append(delivery)
            } else {
                last = parts.count
                if last >= fewMax { places[key] = last }
                parts.append((key, [delivery]))
            }
        }
        return parts
    }

    private func isLane(of delivery: Delivery) -> Bool {
        sender == delivery.sender && app == delivery.device.app && kind == delivery.kind
    }
}
