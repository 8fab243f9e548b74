package import CSignalbox
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// The sink for the results of one request.
///
/// `@unchecked Sendable`: `table` is written in `init` only; everything else is behind the lock.
package final class IngestSink: HostSink, @unchecked Sendable {
    private struct State {
        var result = IngestResult()
        var isDeferred = false
        var timeoutMs: UInt32 = 0
        var hasReturned = false
        /// The plugin's `finish()`, which may come before `handle` has returned.
        var finished: PluginFault??
        var isDone = false
        /// Why the last call that was refused was.
        var refusal = ""
    }

    /// Why a call of it was refused; empty if none was.
    package var refusal: String { state.withLock { $0.refusal } }

    /// The struct for the plugin; lives as long as this object.
    package let table: UnsafeMutablePointer<sbx_ingest_sink>
    private let context: InstanceContext
    private let limits: Limits
    private let receivedUnixMs: UInt64
    private let done: @Sendable (IngestResult) -> Void
    private let state = Mutex(State())

    init(
        context: InstanceContext, limits: Limits, receivedUnixMs: UInt64,
        done: @escaping @Sendable (IngestResult) -> Void
    ) {
        self.context = context
        self.limits = limits
        self.receivedUnixMs = receivedUnixMs
        self.done = done
        table = Self.slots.take(for: context) { _ in }
        table.pointee.state = Unmanaged.passUnretained(self).toOpaque()
    }

    deinit { Self.slots.giveBack(table) }

    /// Records that `handle` has returned. Returns how long the request may stay open, in milliseconds, if it does.
    package func returned(_ fault: PluginFault?) -> UInt32? {
        let next = state.withLock { state -> PluginFault?? in
            state.hasReturned = true
            guard state.isDeferred, fault == nil else { return .some(fault) }
            return state.finished
        }
        guard let next else { return state.withLock { $0.timeoutMs } }
        end(fault: next)
        return nil
    }

    /// Ends the request; a second call does nothing.
    func end(fault: PluginFault?) {
        let result = state.withLock { state -> IngestResult? in
            guard !state.isDone else { return nil }
            state.isDone = true
            var result = state.result
            if let fault {
                result.events = []
                result.changes = []
                result.fault = fault
            }
            return result
        }
        if let result { done(result) }
    }

    private func emit(
        _ events: UnsafePointer<sbx_event>?, _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let events, count > 0 else { return count == 0 ? SBX_OK : SBX_E_INVALID }
        let read = context.structs.reading("emit()") { () throws(StructFault) in
            try context.structs.events(
                events, count, stride: stride, source: context.name, limits: limits,
                receivedUnixMs: receivedUnixMs)
        }
        let new: [Event]
        switch read {
        case nil: return SBX_E_INVALID
        case .failure(let fault):
            state.withLock { $0.refusal = "\(fault.message)" }
            return fault.kind == .tooLarge ? SBX_E_TOO_LARGE : SBX_E_INVALID
        case .success(let events): new = events
        }
        return state.withLock { state in
            guard !state.isDone else { return SBX_E_INVALID }
            guard state.result.events.count + new.count <= limits.eventsPerRequestMax else {
                return SBX_E_TOO_LARGE
            }
            if state.result.events.isEmpty {
                state.result.events = new
            } else {
                state.result.events += new
            }
            return SBX_OK
        }
    }

    private func change(
        _ changes: UnsafePointer<sbx_change>?, _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let changes, count > 0 else { return count == 0 ? SBX_OK : SBX_E_INVALID }
        var new: [DeviceChange] = []
        var rejects: [IngestResult.Reject] = []
        for index in 0..<count {
            let read = context.structs.reading("change()") { () throws(StructFault) in
                try context.structs.change(
                    try context.structs.read(changes, index, stride: stride),
                    nowUnixMs: receivedUnixMs)
            }
            switch read ?? nil {
            case nil: return SBX_E_INVALID
            case .failure(let fault):
                rejects.append(.init(reason: fault.rawValue, detail: fault.words))
            case .success(let change): new.append(change)
            }
        }
        // Skip single unusable devices; if all are unusable, the caller is at fault.
        guard !new.isEmpty else { return SBX_E_INVALID }
        return state.withLock { state in
            guard !state.isDone else { return SBX_E_INVALID }
            guard state.result.changes.count + new.count <= limits.eventsPerRequestMax else {
                return SBX_E_TOO_LARGE
            }
            state.result.changes += new
            state.result.add(rejects)
            return SBX_OK
        }
    }

    private func respond(
        _ status: UInt32, _ headers: UnsafePointer<sbx_kv>?, _ count: Int, _ body: sbx_str
    ) -> sbx_status {
        let answer = IngestResult.Answer(
            status: status, headers: KeyValues.copy(headers, count), body: Array(body.raw))
        return state.withLock { state in
            guard !state.isDone, state.result.answer == nil, (200...599).contains(status) else {
                return SBX_E_INVALID
            }
            state.result.answer = answer
            return SBX_OK
        }
    }

    private func wait(_ timeoutMs: UInt32) -> sbx_status {
        let isFirst = state.withLock { state in
            guard !state.isDeferred, !state.hasReturned else { return false }
            state.isDeferred = true
            state.timeoutMs = timeoutMs
            return true
        }
        guard isFirst else { return SBX_E_INVALID }
        // Kept alive for the plugin until finish().
        _ = Unmanaged.passRetained(self)
        context.services.onWorker(afterMs: UInt64(timeoutMs)) {
            self.end(
                fault: PluginFault(
                    .timeout, "the plugin did not finish the request within \(timeoutMs) ms"))
        }
        return SBX_OK
    }

    private func finish(_ fault: PluginFault?) {
        let (isOpen, hasReturned) = state.withLock { state in
            guard state.isDeferred, state.finished == nil else { return (false, false) }
            state.finished = .some(fault)
            return (true, state.hasReturned)
        }
        guard isOpen else {
            context.misbehaved("called finish() twice or without defer()")
            return
        }
        if hasReturned { end(fault: fault) }
        Unmanaged.passUnretained(self).release()
    }

    package static let slots: SinkSlots<sbx_ingest_sink> = SinkSlots { functions }

    /// Lead to the sink.
    package static var functions: sbx_ingest_sink {
        var table = sbx_ingest_sink()
        table.struct_size = UInt32(MemoryLayout<sbx_ingest_sink>.size)
        table.emit = { sink, events, count, stride in
            IngestSink.from(sink)?.emit(events, count, stride) ?? IngestSink.slots.late(sink)
        }
        table.change = { sink, changes, count, stride in
            IngestSink.from(sink)?.change(changes, count, stride) ?? IngestSink.slots.late(sink)
        }
        table.reject = { sink, reason, detail in
            guard let sink = IngestSink.from(sink) else { return IngestSink.slots.late(sink) }
            let reject = IngestResult.Reject(reason: reason.text, detail: detail.text)
            sink.state.withLock { $0.result.add([reject]) }
            return SBX_OK
        }
        table.respond = { sink, status, headers, count, body in
            IngestSink.from(sink)?.respond(status, headers, count, body)
                ?? IngestSink.slots.late(sink)
        }
        table.defer = { sink, timeout in
            IngestSink.from(sink)?.wait(timeout) ?? IngestSink.slots.late(sink)
        }
        table.finish = { sink, status, error in
            guard let known = IngestSink.from(sink) else {
                _ = IngestSink.slots.late(sink)
                return
            }
            let structs = known.context.structs
            let words =
                error.flatMap { error in
                    structs.reading("finish()") { () throws(StructFault) in try structs.read(error)
                    }
                } ?? sbx_error.fresh
            known.finish(status == SBX_OK ? nil : PluginFault(status: status, error: words))
        }
        return table
    }
}

extension IngestResult {
    /// One request can have very many faults; the rest is dropped.
    fileprivate mutating func add(_ new: [Reject]) {
        rejects += new.prefix(max(0, 10_000 - rejects.count))
    }
}
