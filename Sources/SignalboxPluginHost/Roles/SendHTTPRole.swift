internal import CSignalbox
public import SignalboxCore

/// The send-http role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class SendHTTPRole: @unchecked Sendable {
    /// Most deliveries or responses per call; nil if the host chooses.
    public let maxBatch: Int?
    private let instance: PluginInstance
    private let table: sbx_send_http

    /// The role; nil if the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_SEND_HTTP, sbx_send_http.self) else { return nil }
        self.instance = instance
        table = Tables.sendHTTP(given)
        maxBatch = table.max_batch == 0 ? nil : Int(table.max_batch)
    }

    /// Where to connect for an app; an empty name is the default app.
    public func endpoint(app: String) async throws(PluginFault) -> SendEndpoint {
        let table = table
        return try await EndpointQuestion.ask(instance, app: app) { raw, app, out, error in
            table.endpoint(raw, app, out, error)
        }
    }

    /// Renders deliveries of one app.
    ///
    /// Thread: worker.
    public func prepare(app: String, deliveries: [Delivery]) -> PrepareResult {
        TranslatorCalls.prepare(instance, PluginCalls.prepare, deliveries) {
            raw, arena, sink, error in
            table.prepare(
                raw, arena.text(app), arena.deliveries(deliveries), deliveries.count,
                MemoryLayout<sbx_delivery>.stride, sink, error)
        }
    }

    /// Turns responses into outcomes, and sometimes into further requests.
    ///
    /// Thread: worker.
    public func classify(
        app: String, responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch) {
        TranslatorCalls.classify(
            instance, PluginCalls.classify, app: app, responses: responses
        ) {
            raw, batch, count, sink, error in
            table.classify(
                raw, batch, count, MemoryLayout<sbx_http_response>.stride, sink, error)
        }
    }
}
