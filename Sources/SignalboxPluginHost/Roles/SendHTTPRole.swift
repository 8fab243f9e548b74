internal import CSignalbox
public import SignalboxCore

/// Where requests of one app go, as the plugin says.
public struct SendEndpoint: Sendable, Hashable {
    /// `https://host:port`.
    public var origin: String
    /// PEM file of trusted roots; nil: the system's.
    public var caFile: String?
    /// Client certificate chain and key, PEM.
    public var clientIdentity: ClientIdentity?
    /// Refuse a peer that does not choose `h2`.
    public var isALPNRequired: Bool
    /// One request at a time until the first 2xx.
    public var isOneStreamFirst: Bool
    /// A request whose fate is unknown is not tried again.
    public var isAtMostOnce: Bool
    /// 0: the engine's default, for each of these.
    public var requestTimeoutMs: Int
    /// TCP, TLS and SETTINGS together.
    public var connectTimeoutMs: Int
    /// PING after so long without traffic; 0: never while idle.
    public var pingIdleMs: Int
    /// A connection that owes a PING answer so long is dead.
    public var pingTimeoutMs: Int
    /// Most connections.
    public var connectionsMax: Int
    /// Own cap below the peer's SETTINGS.
    public var streamsMax: Int

    /// A client's certificate for mutual TLS.
    public struct ClientIdentity: Sendable, Hashable {
        /// PEM chain.
        public var certificate: [UInt8]
        /// PEM key.
        public var key: [UInt8]
    }
}

/// What `prepare` made of a batch.
public enum PrepareResult: Sendable {
    /// Requests to send, and what is decided without one.
    case ready(RequestBatch, settled: [Outcome])
    /// A credential is on its way: offer the batch again.
    case again
    /// The plugin failed; nothing was taken.
    case failed(PluginFault)
}

/// The send-http role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class SendHTTPRole: @unchecked Sendable {
    /// Most deliveries or responses per call; nil: the host's choice.
    public let maxBatch: Int?
    private let instance: PluginInstance
    private let table: sbx_send_http

    /// The role, or nil: the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_SEND_HTTP, sbx_send_http.self) else { return nil }
        self.instance = instance
        table = Tables.sendHTTP(given)
        maxBatch = table.max_batch == 0 ? nil : Int(table.max_batch)
    }

    /// Where to connect for an app; empty: the default app.
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
        TranslatorCalls.prepare(instance, items: deliveries.map(\.id)) {
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
        TranslatorCalls.classify(instance, app: app, responses: responses) {
            raw, batch, count, sink, error in
            table.classify(
                raw, batch, count, MemoryLayout<sbx_http_response>.stride, sink, error)
        }
    }
}

extension SendEndpoint {
    /// What a plugin filled in, with its secrets looked up.
    static func read(
        _ raw: sbx_endpoint, _ context: InstanceContext
    ) -> Result<SendEndpoint, PluginFault> {
        let filled = context.structs.reading("endpoint()") { () throws(StructFault) in
            try context.structs.filled(raw)
        }
        guard let raw = filled else {
            return .failure(PluginFault(.invalid, "endpoint() changed struct_size of sbx_endpoint"))
        }
        let identity: ClientIdentity?
        do throws(PluginFault) {
            identity = try self.identity(raw, context)
        } catch {
            return .failure(error)
        }
        let file = raw.ca_file.text
        return .success(
            SendEndpoint(
                origin: raw.origin.text, caFile: file.isEmpty ? nil : file,
                clientIdentity: identity,
                isALPNRequired: raw.flags & SBX_ENDPOINT_ALPN_REQUIRED != 0,
                isOneStreamFirst: raw.flags & SBX_ENDPOINT_ONE_STREAM_FIRST != 0,
                isAtMostOnce: raw.flags & SBX_ENDPOINT_AT_MOST_ONCE != 0,
                requestTimeoutMs: Int(raw.request_timeout_ms),
                connectTimeoutMs: Int(raw.connect_timeout_ms), pingIdleMs: Int(raw.ping_idle_ms),
                pingTimeoutMs: Int(raw.ping_timeout_ms),
                connectionsMax: Int(raw.connections_max), streamsMax: Int(raw.streams_max)))
    }

    private static func identity(
        _ raw: sbx_endpoint, _ context: InstanceContext
    ) throws(PluginFault) -> ClientIdentity? {
        guard !raw.client_certificate.isEmpty else { return nil }
        let secrets = context.secrets
        let certificate = try secrets.bytes(raw.client_certificate.text, pointer: "")
        let key =
            raw.client_key.isEmpty ? nil : try secrets.bytes(raw.client_key.text, pointer: "")
        let password =
            raw.client_password.isEmpty
            ? nil : try secrets.bytes(raw.client_password.text, pointer: "")
        let made = try context.services.identity(
            certificate + (key.map { [UInt8(ascii: "\n")] + $0 } ?? []), password: password)
        return ClientIdentity(certificate: made.certificate, key: made.key)
    }
}
