internal import CSignalbox
public import SignalboxCore

/// The ingest role of an instance.
public final class IngestRole: Sendable {
    /// The paths it serves.
    public let paths: [IngestPath]
    /// The instance.
    public let instance: PluginInstance
    private let table: sbx_ingest
    private let limits: Limits

    /// The role; nil if the plugin does not have it. It asks for the paths, so call it after `start`.
    public init?(_ instance: PluginInstance, limits: Limits) async throws(PluginFault) {
        guard let given = instance.role(SBX_ROLE_INGEST, sbx_ingest.self) else { return nil }
        self.instance = instance
        self.limits = limits
        let table = Tables.ingest(given)
        self.table = table
        let (context, structs) = (instance.context, instance.context.structs)
        let asked = await instance.controlled { raw, _ -> Result<[IngestPath], PluginFault> in
            var start: UnsafePointer<sbx_ingest_path>?
            var count = 0
            var stride = 0
            let status = table.paths(raw.instance, &start, &count, &stride)
            guard status == SBX_OK else {
                return .failure(PluginFault(status: status, error: .fresh))
            }
            guard let start, count > 0 else { return .success([]) }
            do throws(StructFault) {
                return .success(try structs.paths(start, count, stride: stride))
            } catch {
                let words = error.words(in: "paths()")
                context.misbehaved(words)
                return .failure(PluginFault(.invalid, words))
            }
        }
        paths = try (asked ?? .failure(PluginFault(.stopping, "the instance is stopped"))).get()
    }

    /// Hands a request to the plugin; `done` is called once, on this thread or later on another.
    ///
    /// Thread: worker.
    public func handle(
        _ request: IngestRequest, done: @escaping @Sendable (IngestResult) -> Void
    ) {
        _ = begin(request, done: done)
    }

    /// Like `handle`. Returns how long the request may stay open, in milliseconds, if the plugin deferred it.
    func begin(
        _ request: IngestRequest, done: @escaping @Sendable (IngestResult) -> Void
    ) -> UInt32? {
        let sink = IngestSink(
            context: instance.context, limits: limits, receivedUnixMs: request.receivedUnixMs,
            done: done)
        if let fault = instance.fullness {
            sink.end(fault: fault)
            return nil
        }
        let result = instance.work(PluginCalls.handle) { raw, arena -> (sbx_status, sbx_error) in
            let given = arena.request(request)
            var error = sbx_error.fresh
            let status = table.handle(raw, given, sink.table, &error)
            return (status, error)
        }
        guard let (status, error) = result else {
            sink.end(fault: instance.absence)
            return nil
        }
        let refusal = sink.refusal
        guard status == SBX_OK else {
            let words = refusal.isEmpty ? nil : "emit() was refused: \(refusal)"
            return sink.returned(PluginFault(status: status, error: error, otherwise: words))
        }
        if !refusal.isEmpty, instance.context.mayLog() {
            instance.context.services.log(
                instance: instance.name, level: .warn, message: "events of a request were refused",
                fields: [Attribute("error", refusal)])
        }
        return sink.returned(nil)
    }
}
