package import CSignalbox
public import SignalboxCore

/// The register role of an instance: tells a source's system what happened to its devices.
///
/// A change is sent as a delivery whose content holds it, so it waits, is retried and can fail for good
/// like any other. `@unchecked Sendable`: the table is only read.
public final class RegisterRole: @unchecked Sendable {
    /// Most changes per call; nil if the host chooses.
    public let maxBatch: Int?
    private let kinds: UInt64
    private let instance: PluginInstance
    private let table: sbx_register

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_REGISTER, sbx_register.self) else { return nil }
        self.instance = instance
        table = Tables.register(given)
        maxBatch = table.max_batch == 0 ? nil : Int(table.max_batch)
        kinds = table.kinds
    }

    /// Whether it wants changes of that kind.
    public func wants(_ kind: DeviceChange.Kind) -> Bool { kinds & (1 << kind.rawValue) != 0 }

    /// Where requests of an app go; fails with kind `notFound` if the instance reports nothing.
    public func endpoint(app: String) async throws(PluginFault) -> SendEndpoint {
        let table = table
        return try await EndpointQuestion.ask(instance, app: app) { raw, app, out, error in
            table.endpoint(raw, app, out, error)
        }
    }

    /// Renders changes of one app.
    ///
    /// Thread: worker.
    public func prepare(app: String, deliveries: [Delivery]) -> PrepareResult {
        TranslatorCalls.prepare(instance, PluginCalls.report, deliveries) {
            raw, arena, sink, error in
            let changes = deliveries.map { (id: $0.id, change: DeviceChange(carriedBy: $0)) }
            return table.prepare(
                raw, arena.text(app), Self.batch(changes, in: arena), changes.count,
                MemoryLayout<sbx_change>.stride, sink, error)
        }
    }

    /// Changes for a plugin.
    package static func batch(
        _ changes: [(id: UInt64, change: DeviceChange)], in arena: CArena
    ) -> UnsafePointer<sbx_change> {
        let batch = arena.array(sbx_change.self, count: changes.count)
        for (index, (id, change)) in changes.enumerated() {
            let out = batch + index
            out.pointee.struct_size = UInt32(MemoryLayout<sbx_change>.size)
            out.pointee.kind = change.kind.rawValue
            out.pointee.id = id
            out.pointee.time_unix_ms = change.timeUnixMs
            out.pointee.device = arena.device(change.device)
            out.pointee.reason = arena.text(change.reason)
            out.pointee.subject = arena.text(change.subject)
        }
        return UnsafePointer(batch)
    }

    /// Turns responses into outcomes.
    ///
    /// Thread: worker.
    public func classify(
        app: String, responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch) {
        TranslatorCalls.classify(
            instance, PluginCalls.reported, app: app, responses: responses
        ) {
            raw, batch, count, sink, error in
            table.classify(
                raw, batch, count, MemoryLayout<sbx_http_response>.stride, sink, error)
        }
    }
}

extension DeviceChange {
    /// The content of a delivery that carries this change. `receivedUnixMs`: when it enters the queue. Of two reports of
    /// a device the newer one counts, and one without a time would be older than all that the queue has lent.
    public func carrier(receivedUnixMs: UInt64) -> SharedNotification {
        var note = PushNotification()
        note.category = "device.\(kind)"
        note.title = reason
        note.thread = subject
        note.expiresUnixMs = timeUnixMs
        note.priority = .low
        return SharedNotification(note, receivedUnixMs: receivedUnixMs)
    }

    /// The change that a delivery carries.
    init(carriedBy delivery: Delivery) {
        let note = delivery.content.notification
        let kind = Kind.allCases.first { note.category == "device.\($0)" } ?? .invalid
        self.init(
            kind: kind, device: delivery.device, timeUnixMs: note.expiresUnixMs,
            reason: note.title, subject: note.thread)
    }
}
