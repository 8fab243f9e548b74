/// Turns deliveries of one batch into requests.
public protocol DeliveryEncoder {
    /// The request of the last encoded delivery.
    var draft: RequestDraft { get }
    /// Writes the request into `draft`, or returns the outcome if sending would be useless.
    mutating func encode(_ delivery: borrowing Delivery) throws(PluginError) -> Outcome?
}

extension RequestSink {
    /// Sends each delivery's request, or settles it.
    @inlinable
    public func send(
        _ batch: borrowing DeliveryBatch, by encoder: inout some DeliveryEncoder
    ) throws(PluginError) {
        for index in 0..<batch.count {
            let delivery = batch[index]
            if let outcome = try encoder.encode(delivery) {
                try settle([delivery.id], outcome)
            } else {
                try send(encoder.draft, for: delivery.id)
            }
        }
    }
}
