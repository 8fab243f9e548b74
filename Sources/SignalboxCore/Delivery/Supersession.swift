/// What a delivery makes obsolete once its provider has accepted it: older ones that show something under the same key on the
/// same device, and older numbers on its app's icon.
///
/// Keys are hashes, so that a store can compare them and holds no token in them.
public struct Supersession: Sendable, Hashable {
    /// Key of what it shows: sender, app, token and collapse key; of a report: instance, app and device. nil if it
    /// replaces nothing.
    public var shown: Int64?
    /// Key of the app's icon: sender, app and token; nil if it carries no number.
    public var badge: Int64?
    /// Those before it are older.
    public var order: DeliveryOrder

    /// Makes one.
    public init(shown: Int64?, badge: Int64?, order: DeliveryOrder) {
        self.shown = shown
        self.badge = badge
        self.order = order
    }

    /// Why a delivery was not sent again: its provider has accepted a newer one.
    public static let reason = "newer_accepted"
    /// Why a delivery was not sent: it was withdrawn.
    public static let withdrawn = "taken_back"
}

/// The order in which events were accepted, by the clocks of the gateways that accepted them; within a millisecond, that of ids.
public struct DeliveryOrder: Sendable, Hashable, Comparable {
    /// When its event was accepted, in Unix milliseconds.
    public var unixMs: UInt64
    /// The delivery's id.
    public var id: UInt64

    /// Makes one.
    public init(unixMs: UInt64, id: UInt64) {
        self.unixMs = unixMs
        self.id = id
    }

    /// Whether one is older than another.
    public static func < (a: DeliveryOrder, b: DeliveryOrder) -> Bool {
        (a.unixMs, a.id) < (b.unixMs, b.id)
    }
}

/// Which parts of a delivery are obsolete.
public struct Staleness: OptionSet, Sendable, Hashable {
    /// Its bits, as they are stored.
    public let rawValue: UInt8

    /// From its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// From a row; an invalid number marks nothing, since in case of doubt a push is sent.
    public init(stored number: Int64) { rawValue = (0...3).contains(number) ? UInt8(number) : 0 }

    /// A newer one is shown in its place: it is not sent.
    public static let shown = Staleness(rawValue: 1)
    /// A newer number is on the app's icon: it is sent without its own.
    public static let badge = Staleness(rawValue: 2)
}

extension Delivery {
    /// Its place in the order of events. A replay keeps its original place.
    public var order: DeliveryOrder { DeliveryOrder(unixMs: acceptedUnixMs, id: id) }

    /// Which deliveries it supersedes, and which supersede it; nil if there is no such delivery.
    public var supersession: Supersession? {
        let note = content.notification
        if kind == .report {
            return Supersession(shown: key(.report, stableID), badge: nil, order: order)
        }
        let hasBadge = (badge ?? note.badge) != nil
        guard !note.collapse.isEmpty || hasBadge, !note.isDryRun else { return nil }
        return Supersession(
            shown: note.collapse.isEmpty ? nil : key(.shown, device.token, note.collapse),
            badge: hasBadge ? key(.badge, device.token) : nil, order: order)
    }

    /// Takes what a store has kept of its order.
    public mutating func setAccepted(_ unixMs: UInt64) {
        if unixMs != 0, unixMs != acceptedUnixMs { acceptedUnixMs = unixMs }
    }

    private enum KeyKind: UInt64 { case shown = 1, badge, report }

    private func key(_ kind: KeyKind, _ name: String, _ rest: String = "") -> Int64 {
        let own = SeenKey(seed: (0x7369_676e_616c_626f, kind.rawValue), name, rest)
        return Int64(
            bitPattern: SeenKey(seed: (own.high, own.low), sender, device.app).high)
    }

    /// The delivery without its badge number; nil if it contains nothing else.
    public var withoutBadge: Delivery? {
        let note = content.notification
        var bare = note
        bare.badge = nil
        var empty = PushNotification()
        empty.isSilent = bare.isSilent
        (empty.isDataOnly, empty.isMutable) = (bare.isDataOnly, bare.isMutable)
        (empty.priority, empty.expiresUnixMs) = (bare.priority, bare.expiresUnixMs)
        (empty.collapse, empty.thread, empty.pushType) = (bare.collapse, bare.thread, bare.pushType)
        guard bare != empty else { return nil }
        var out = self
        out.badge = nil
        if note.badge != nil {
            out.content = SharedNotification(
                bare, eventType: content.eventType, eventKey: content.eventKey,
                receivedUnixMs: content.receivedUnixMs)
        }
        return out
    }
}
