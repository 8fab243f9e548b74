internal import CSignalbox
internal import Synchronization

/// Receives a request's results; valid during `handle`.
public struct IngestSink: ~Copyable {
    private let writer: SinkWriter

    init(_ raw: UnsafeMutablePointer<sbx_ingest_sink>) { writer = SinkWriter(raw: raw) }

    /// Emits an event.
    public func emit(_ event: Event) throws(PluginError) { try writer.emit(event) }

    /// Reports device changes, which are committed together with the events.
    public func change(_ changes: [DeviceChange]) throws(PluginError) {
        try writer.change(changes)
    }

    /// Reports an unusable item that was left out; the other items are not affected.
    ///
    /// `reason` is from a fixed list, `detail` holds no token or body.
    public func reject(_ reason: String, _ detail: String) { writer.reject(reason, detail) }

    /// Sets the answer, at most once; the default is 200, or 202 if nothing was emitted.
    public func respond(
        _ status: Int, headers: [(String, String)] = [], body: [UInt8] = []
    ) throws(PluginError) {
        try writer.respond(status, headers: headers, body: body)
    }

    /// Keeps the request open after `handle` has returned, so that the plugin can fetch something first.
    ///
    /// Call `finish` exactly once, even after `timeoutMs`, when the host has answered 503. The request itself
    /// is only valid during `handle`: copy what is needed.
    public func deferred(timeoutMs: UInt32) throws(PluginError) -> DeferredIngest {
        try writer.keepOpen(timeoutMs)
        return DeferredIngest(writer)
    }
}

/// A request that is still open; thread: any, one call at a time.
public final class DeferredIngest: Sendable {
    private let writer: SinkWriter
    private let isOpen = Atomic<Bool>(true)

    init(_ writer: SinkWriter) { self.writer = writer }

    deinit { finish(PluginError(.internal, "the plugin forgot the request")) }

    /// Emits an event.
    public func emit(_ event: Event) throws(PluginError) {
        try checkOpen()
        try writer.emit(event)
    }

    /// Reports device changes.
    public func change(_ changes: [DeviceChange]) throws(PluginError) {
        try checkOpen()
        try writer.change(changes)
    }

    /// Reports an unusable item that was left out.
    public func reject(_ reason: String, _ detail: String) {
        guard isOpen.load(ordering: .acquiring) else { return }
        writer.reject(reason, detail)
    }

    /// Sets the answer, at most once.
    public func respond(
        _ status: Int, headers: [(String, String)] = [], body: [UInt8] = []
    ) throws(PluginError) {
        try checkOpen()
        try writer.respond(status, headers: headers, body: body)
    }

    /// After the end of the request, the host's sink must not be used.
    private func checkOpen() throws(PluginError) {
        guard isOpen.load(ordering: .acquiring) else {
            throw PluginError(.invalid, "the request has ended")
        }
    }

    /// Ends the request; a second call does nothing.
    public func finish(_ error: PluginError? = nil) {
        guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        writer.finish(error)
    }

    /// Runs `body`, and ends the request if it throws; otherwise the request stays open.
    public func attempt(_ body: () throws(PluginError) -> Void) {
        do throws(PluginError) {
            try body()
        } catch {
            finish(error)
        }
    }
}

/// A device change that a plugin reports.
public struct DeviceChange: Sendable {
    /// `registered` or `unregistered`.
    public var kind: ChangeKind
    /// The device; for `unregistered` without a token, all devices of its user.
    public var device: Device
    /// In Unix milliseconds; 0 for now.
    public var timeUnixMs: UInt64 = 0

    /// Makes a change.
    public init(_ kind: ChangeKind, _ device: Device) {
        self.kind = kind
        self.device = device
    }

    func write(to out: UnsafeMutablePointer<sbx_change>, _ arena: Arena) {
        out.pointee.struct_size = UInt32(MemoryLayout<sbx_change>.size)
        out.pointee.kind = kind.rawValue
        out.pointee.time_unix_ms = timeUnixMs
        let room = arena.array(sbx_device.self, 1)
        device.write(to: room, arena)
        out.pointee.device = UnsafePointer(room)
    }
}

/// The functions of `sbx_ingest_sink`.
///
/// `@unchecked Sendable`: the host lets a deferred request be used from any thread, one at a time.
struct SinkWriter: @unchecked Sendable {
    let raw: UnsafeMutablePointer<sbx_ingest_sink>

    func emit(_ event: Event) throws(PluginError) {
        let arena = Arena()
        let out = arena.array(sbx_event.self, 1)
        event.write(to: out, arena)
        let status = raw.pointee.emit(raw, out, 1, MemoryLayout<sbx_event>.stride)
        try PluginError.check(
            status,
            status == SBX_E_TOO_LARGE
                ? "too many devices or events in one request" : "the host rejected the event")
    }

    func change(_ changes: [DeviceChange]) throws(PluginError) {
        let arena = Arena()
        let list = arena.array(sbx_change.self, changes.count)
        for (index, change) in changes.enumerated() { change.write(to: list + index, arena) }
        let status = raw.pointee.change(
            raw, list, changes.count, MemoryLayout<sbx_change>.stride)
        guard status == SBX_OK else {
            throw PluginError(.init(code: status), "the host rejected the device changes")
        }
    }

    func reject(_ reason: String, _ detail: String) {
        let arena = Arena()
        _ = raw.pointee.reject(raw, arena.text(reason), arena.text(detail))
    }

    func respond(
        _ status: Int, headers: [(String, String)], body: [UInt8]
    ) throws(PluginError) {
        let arena = Arena()
        let status = raw.pointee.respond(
            raw, UInt32(clamping: status), arena.pairs(headers), headers.count, arena.bytes(body))
        try PluginError.check(status, "the host rejected the answer")
    }

    func keepOpen(_ timeoutMs: UInt32) throws(PluginError) {
        let status = raw.pointee.defer(raw, timeoutMs)
        try PluginError.check(status, "the request cannot stay open")
    }

    func finish(_ error: PluginError?) {
        guard let error else {
            raw.pointee.finish(raw, SBX_OK, nil)
            return
        }
        var words = sbx_error.fresh
        let status = error.report(to: &words)
        raw.pointee.finish(raw, status, &words)
    }
}
