internal import CSignalbox

/// Learns how deliveries ended and what users opened: for a bus, a warehouse, a CRM.
public protocol ObservePlugin: Plugin {
    /// Most observations per call; 0 if the host chooses.
    static var maxObservations: Int { get }
    /// Takes a batch, in the order of its sequences; never waits for the network.
    ///
    /// Call `host.observed` once, from any thread, within 60 s: the next batch waits for it. Each observation comes at
    /// least once: if you store them, keep the largest sequence and skip any that is not above it. Throwing answers
    /// the batch. Thread: worker; must not block.
    func observe(_ batch: [Observation]) throws(PluginError)
}

extension ObservePlugin {
    /// The host chooses.
    public static var maxObservations: Int { 0 }
}

/// One outcome.
public struct Observation: Sendable, Hashable {
    /// Grows with every outcome; the same when it comes again.
    public var sequence: UInt64
    /// A JSON object with the members of docs/outcomes.md.
    public var json: String
}

extension Host {
    /// Answers the batch whose last observation has this sequence.
    ///
    /// Without an error, the receiver has stored the observations. With `again`, `unreachable`, `timeout` or `lost`
    /// they come again, not before `retryAfterMs`; with another error, after long waits. Thread: any.
    public func observed(_ sequence: UInt64, error: PluginError? = nil, retryAfterMs: UInt64 = 0) {
        var words = sbx_error.fresh
        let status = error?.report(to: &words) ?? SBX_OK
        if let error { write(.warn, "outcomes were not taken", [("error", error.message)]) }
        services.observeHost.done?(raw, sequence, status, retryAfterMs)
    }
}

/// The functions of `sbx_observe`.
enum ObserveCalls {
    static var table: sbx_observe {
        var table = sbx_observe()
        table.observe = { instance, observations, count, stride, error in
            guard let observations else { return SBX_E_INTERNAL }
            return role(instance, error) { (plugin: any ObservePlugin, _) throws(PluginError) in
                try plugin.observe(
                    (0..<count).map { index in
                        let raw = UnsafeRawPointer(observations) + index * stride
                        let one = raw.assumingMemoryBound(to: sbx_observation.self).pointee
                        return Observation(sequence: one.sequence, json: one.json.text)
                    })
            }
        }
        return table
    }
}
