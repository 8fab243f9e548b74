internal import CSignalbox

/// Takes events in by itself: from a bus, a poll, a socket, a schedule. For webhooks there is `IngestPlugin`.
public protocol SourcePlugin: Plugin {
    /// Begins to take events in; at most `batchesMax` batches may be undecided at a time.
    ///
    /// Called after `start` and after each `pause`. If it throws, the host calls it again, with growing waits.
    /// Thread: control.
    func resume(batchesMax: Int) throws(PluginError)
    /// Emits nothing more until `resume`; what was emitted is still settled. Thread: control.
    func pause() throws(PluginError)
    /// These batches are decided. Thread: several at once; must not block.
    func settled(_ results: [BatchResult])
}

/// The verdict on a batch.
public struct BatchResult: Sendable, Hashable {
    /// As given to `emit`.
    public var token: UInt64
    /// The events are on disk, so they can be acknowledged; otherwise none is, and the batch is emitted again.
    public var isStored: Bool
    /// If it is not stored: emit it again no sooner than after so many milliseconds.
    public var retryAfterMs: UInt64
    /// How many events were stored.
    public var storedCount: Int
    /// How many events were dropped, because their dedupe key was seen before.
    public var repeatedCount: Int
}

extension Host {
    /// Emits a batch: all of its events are stored, or none. `token` comes back in `settled`, once, unless this
    /// throws.
    ///
    /// Throws `again` if `batchesMax` batches are undecided or the source is paused, `invalid` if an event is malformed
    /// and would never be taken, `tooLarge` if the batch must be split. Thread: any.
    public func emit(_ events: [Event], token: UInt64) throws(PluginError) {
        let arena = Arena()
        let list = arena.array(sbx_event.self, events.count)
        for (index, event) in events.enumerated() { event.write(to: list + index, arena) }
        try check("the host did not take the batch") {
            services.sourceHost.emit?(
                raw, token, list, events.count, MemoryLayout<sbx_event>.stride)
        }
    }

    /// Tells how the source is, whenever that changes: nil if events come in, or why none do. The host's readiness,
    /// log and metrics show it. `resume` ends what was said before. Thread: any.
    public func condition(_ fault: PluginError?) {
        let arena = Arena()
        var words = sbx_error.fresh
        let status = fault?.report(to: &words) ?? SBX_OK
        _ = services.sourceHost.condition?(raw, status, arena.text(fault?.message ?? ""))
    }
}

/// The functions of `sbx_source`.
enum SourceCalls {
    static var table: sbx_source {
        var table = sbx_source()
        table.resume = { instance, batchesMax, error in
            role(instance, error) { (plugin: any SourcePlugin, _) throws(PluginError) in
                try plugin.resume(batchesMax: Int(batchesMax))
            }
        }
        table.pause = { instance, error in
            role(instance, error) { (plugin: any SourcePlugin, _) throws(PluginError) in
                try plugin.pause()
            }
        }
        table.settled = { instance, results, count, stride in
            guard let plugin = InstanceBox.from(instance)?.plugin as? any SourcePlugin,
                let results
            else { return }
            plugin.settled(
                (0..<count).map { index in
                    let raw = UnsafeRawPointer(results) + index * stride
                    return BatchResult(raw.assumingMemoryBound(to: sbx_batch_result.self).pointee)
                })
        }
        return table
    }
}

extension BatchResult {
    init(_ raw: sbx_batch_result) {
        self.init(
            token: raw.token, isStored: raw.status == SBX_OK, retryAfterMs: raw.retry_after_ms,
            storedCount: Int(raw.stored), repeatedCount: Int(raw.repeated))
    }
}
