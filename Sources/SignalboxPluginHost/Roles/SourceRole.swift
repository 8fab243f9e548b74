package import CSignalbox
public import SignalboxCore
internal import Synchronization

/// The source role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class SourceRole: @unchecked Sendable {
    private let instance: PluginInstance
    private let table: sbx_source
    private let limits: Limits
    private let decided = Mutex<[sbx_batch_result]>([])

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance, limits: Limits) {
        guard let given = instance.role(SBX_ROLE_SOURCE, sbx_source.self) else { return nil }
        self.instance = instance
        self.limits = limits
        table = Tables.source(given)
    }

    /// The instance's name.
    public var instanceName: String { instance.name }
    /// The same for all roles of one instance.
    public var instanceID: ObjectIdentifier { ObjectIdentifier(instance) }

    /// Lets it emit, with at most so many undecided batches.
    public func resume(
        batchesMax: Int, take: @escaping @Sendable (SourceBatch) -> Bool,
        onCondition: @escaping @Sendable (PluginFault?) -> Void
    ) async throws(PluginFault) {
        let batches = instance.context.source
        batches.open(
            .init(
                limits: limits, batchesMax: batchesMax, take: take, onCondition: onCondition,
                settle: { self.settle(sbx_batch_result(token: $0, $1)) }))
        let called = await instance.controlled { [table] raw, _ -> PluginFault? in
            var error = sbx_error.fresh
            let status = table.resume(raw.instance, UInt32(clamping: batchesMax), &error)
            return status == SBX_OK ? nil : PluginFault(status: status, error: error)
        }
        guard let fault = called ?? instance.absence else {
            return
        }
        batches.close()
        throw fault
    }

    /// Lets it emit nothing more.
    public func pause() async throws(PluginFault) {
        let called = await instance.controlled { [table] raw, _ -> PluginFault? in
            var error = sbx_error.fresh
            let status = table.pause(raw.instance, &error)
            return status == SBX_OK ? nil : PluginFault(status: status, error: error)
        }
        // Not before: what it emits while it pauses is taken.
        instance.context.source.close()
        if case .some(.some(let fault)) = called { throw fault }
    }

    /// Tells the plugin of a decided batch, together with others that were decided meanwhile.
    private func settle(_ result: sbx_batch_result) {
        let isFirst = decided.withLock { decided in
            decided.append(result)
            return decided.count == 1
        }
        guard isFirst else { return }
        instance.context.services.onWorker { [self] in
            let results = decided.withLock { decided in
                defer { decided = [] }
                return decided
            }
            // Before the plugin gets them: it may emit the next batches at once.
            for _ in results { instance.context.source.isSettled() }
            // Each of them holds a place in the gate of calls.
            instance.settled { [table] raw in
                results.withUnsafeBufferPointer { results in
                    table.settled(
                        raw, results.baseAddress, results.count,
                        MemoryLayout<sbx_batch_result>.stride)
                }
            }
            for _ in results { instance.context.calls.leave() }
        }
    }
}

extension sbx_batch_result {
    /// The verdict on a batch, as the plugin gets it.
    package init(token: UInt64, _ verdict: SourceVerdict) {
        self.init()
        struct_size = UInt32(MemoryLayout<sbx_batch_result>.size)
        self.token = token
        switch verdict {
        case .stored(let count, let repeated):
            status = SBX_OK
            stored = UInt32(clamping: count)
            self.repeated = UInt32(clamping: repeated)
        case .again(let ms):
            status = SBX_E_AGAIN
            retry_after_ms = ms
        }
    }
}
