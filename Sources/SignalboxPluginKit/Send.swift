internal import CSignalbox

/// Sends deliveries over the plugin's own transport: SMTP, MQTT, a vendor's SDK. Prefer `SendHTTPPlugin`
/// for HTTP.
public protocol SendPlugin: Plugin {
    /// Most deliveries per call; 0 if the host chooses.
    static var maxBatch: Int { get }
    /// Takes deliveries, from the first, and returns how many it took; never waits for the network.
    ///
    /// For each one taken, call `host.complete` once, from any thread, within 60 s. After taking fewer than
    /// offered, call `host.credit` when there is room again. Thread: several at once; must not block.
    func submit(_ batch: borrowing DeliveryBatch) throws(PluginError) -> Int
}

extension SendPlugin {
    /// The host chooses.
    public static var maxBatch: Int { 0 }
}

/// A copy of a delivery that may be kept after the call.
public struct OwnedDelivery: Sendable {
    /// The id to name in `complete`.
    public let id: UInt64
    /// 1, 2, ...
    public let attempt: UInt32
    /// The device's token.
    ///
    /// Never logged.
    public let token: String
    /// `email`, `ios`, ...
    public let platform: String
    /// A UUID, the same on every attempt.
    public let stableID: String
    /// When it expires, in Unix milliseconds; 0 for never.
    public let deadlineUnixMs: UInt64
    /// When its event arrived, in Unix milliseconds; 0 if the host does not say.
    public let eventUnixMs: UInt64
    /// The content.
    public let content: PushNotification
}

extension Delivery {
    /// A copy that may be kept.
    public func owned() -> OwnedDelivery {
        OwnedDelivery(
            id: id, attempt: attempt, token: token.text, platform: platform,
            stableID: stableID.text, deadlineUnixMs: deadlineUnixMs,
            eventUnixMs: eventUnixMs, content: notification())
    }
}

extension Span<UInt8> {
    fileprivate var text: String { withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) } }
}

extension Host {
    /// Reports the outcomes of deliveries that `submit` took. Thread: any.
    public func complete(_ outcomes: [(item: UInt64, outcome: Outcome)]) {
        guard !outcomes.isEmpty else { return }
        let arena = Arena()
        let list = arena.array(sbx_outcome.self, outcomes.count)
        for (index, entry) in outcomes.enumerated() {
            entry.outcome.write(item: entry.item, to: list + index, arena)
        }
        services.sendHost.complete?(raw, list, outcomes.count, MemoryLayout<sbx_outcome>.stride)
    }

    /// Reports the outcome of one delivery. Thread: any.
    public func complete(_ item: UInt64, _ outcome: Outcome) { complete([(item, outcome)]) }

    /// Tells the host that there is room for `room` more deliveries. Thread: any.
    public func credit(_ room: Int) { services.sendHost.credit?(raw, max(0, room)) }
}

/// The functions of `sbx_send`.
enum SendCalls {
    static var table: sbx_send {
        var table = sbx_send()
        table.submit = { instance, app, deliveries, count, stride, taken, error in
            guard let taken else { return SBX_E_INTERNAL }
            return role(instance, error) { (plugin: any SendPlugin, _) throws(PluginError) in
                let batch = DeliveryBatch(
                    deliveries, count: count, stride: stride, app: app.text)
                taken.pointee = try plugin.submit(batch)
            }
        }
        return table
    }
}
