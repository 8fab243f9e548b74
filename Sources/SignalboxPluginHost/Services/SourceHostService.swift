internal import CSignalbox
internal import SignalboxCore

/// `sbx.source-host/1`.
enum SourceHostService {
    static var table: sbx_source_host {
        var table = sbx_source_host()
        table.emit = { host, token, events, count, stride in
            guard let context = InstanceContext.from(host), let events, count > 0 else {
                return SBX_E_INVALID
            }
            // Before anything is copied: a source that is told to wait tries often.
            guard let opening = context.source.place() else {
                if !context.source.wasOpen {
                    context.misbehaved("called emit() before resume()")
                }
                return SBX_E_AGAIN
            }
            let status = SourceHostService.take(token, events, count, stride, opening, context)
            if status != SBX_OK { context.source.isSettled() }
            return status
        }
        table.condition = { host, status, reason in
            guard let context = InstanceContext.from(host) else { return SBX_E_INVALID }
            let words = String(reason.text.prefix(1_024))
            guard status != SBX_OK else { return context.source.tell(nil) }
            var fault = PluginFault(status: status, error: sbx_error.fresh)
            if !words.isEmpty { fault = PluginFault(fault.kind, words) }
            return context.source.tell(fault)
        }
        return table
    }

    /// Hands a batch over. An undecided one has a place in the gate of calls: a stop waits until it is decided and the
    /// plugin has been told.
    static func take(
        _ token: UInt64, _ events: UnsafePointer<sbx_event>, _ count: Int, _ stride: Int,
        _ opening: SourceBatches.Opening, _ context: InstanceContext
    ) -> sbx_status {
        let now = context.services.nowUnixMs
        let read = context.structs.reading("emit()") { () throws(StructFault) in
            try context.structs.events(
                events, count, stride: stride, source: context.name, limits: opening.limits,
                receivedUnixMs: now)
        }
        let taken: [Event]
        switch read {
        case nil: return SBX_E_INVALID
        case .failure(let fault):
            context.services.log(
                instance: context.name, level: .error, message: "a batch of events was refused",
                fields: [Attribute("error", fault.message)])
            return fault.kind == .tooLarge ? SBX_E_TOO_LARGE : SBX_E_INVALID
        case .success(let events): taken = events
        }
        let bytes = taken.reduce(0) { $0 + $1.data.utf8.count }
        guard bytes <= opening.limits.sourceBatchBytesMax else { return SBX_E_TOO_LARGE }
        guard context.calls.enter() else { return SBX_E_STOPPING }
        let settle = opening.settle
        let batch = SourceBatch(events: taken, receivedUnixMs: now) { settle(token, $0) }
        guard opening.take(batch) else {
            context.calls.leave()
            return SBX_E_AGAIN
        }
        return SBX_OK
    }
}
