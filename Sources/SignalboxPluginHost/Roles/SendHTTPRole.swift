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
        guard let given = instance.role(SBX_ROLE_SEND_HTTP) else { return nil }
        self.instance = instance
        table = Tables.sendHTTP(given.assumingMemoryBound(to: sbx_send_http.self))
        maxBatch = table.max_batch == 0 ? nil : Int(table.max_batch)
    }

    /// Where to connect for an app; empty: the default app.
    public func endpoint(app: String) async throws(PluginFault) -> SendEndpoint {
        let table = table
        let context = instance.context
        let asked = await instance.controlled { raw, arena -> Result<SendEndpoint, PluginFault> in
            let out = arena.make(sbx_endpoint.self)
            out.pointee.struct_size = UInt32(MemoryLayout<sbx_endpoint>.size)
            var error = sbx_error.fresh
            let status = table.endpoint(raw.instance, arena.text(app), out, &error)
            guard status == SBX_OK else {
                return .failure(PluginFault(status: status, error: error))
            }
            return Self.read(out.pointee, context.secrets)
        }
        return try (asked ?? .failure(PluginFault(.stopping, "the instance is stopped"))).get()
    }

    private static func read(
        _ raw: sbx_endpoint, _ secrets: SecretBox
    ) -> Result<SendEndpoint, PluginFault> {
        var identity: SendEndpoint.ClientIdentity?
        if !raw.client_certificate.isEmpty || !raw.client_key.isEmpty {
            guard let certificate = secrets.bytes(raw.client_certificate.text),
                let key = secrets.bytes(raw.client_key.text)
            else {
                return .failure(PluginFault(.notFound, "a client certificate needs two secrets"))
            }
            identity = .init(certificate: certificate, key: key)
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

    /// Renders deliveries of one app.
    ///
    /// Thread: worker.
    public func prepare(app: String, deliveries: [Delivery]) -> PrepareResult {
        let sink = HTTPSink(items: deliveries.map(\.id), app: app)
        let called = instance.work { raw, arena -> (sbx_status, sbx_error) in
            let batch = Self.batch(deliveries, in: arena)
            var error = sbx_error.fresh
            let status = table.prepare(
                raw, arena.text(app), batch, deliveries.count, MemoryLayout<sbx_delivery>.stride,
                sink.table(in: arena), &error)
            return (status, error)
        }
        guard let (status, error) = called else {
            return .failed(PluginFault(.stopping, "the gateway is stopping"))
        }
        report(sink)
        if status != SBX_OK, sink.isUntouched {
            return status == SBX_E_AGAIN
                ? .again : .failed(PluginFault(status: status, error: error))
        }
        if status != SBX_OK {
            instance.context.misbehaved("took a part of a batch and failed")
        }
        finish(sink)
        return .ready(sink.requests, settled: sink.outcomes)
    }

    /// Turns responses into outcomes, and sometimes into further requests.
    ///
    /// Thread: worker.
    public func classify(
        app: String, responses: [HTTPResponse]
    ) -> (settled: [Outcome], requests: RequestBatch) {
        let sink = HTTPSink(items: responses.flatMap(\.items), app: app)
        let fault = instance.work { raw, arena -> PluginFault? in
            let batch = arena.array(sbx_http_response.self, count: responses.count)
            let name = arena.text(app)
            for (index, response) in responses.enumerated() {
                let out = batch + index
                out.pointee.struct_size = UInt32(MemoryLayout<sbx_http_response>.size)
                out.pointee.http_status = response.status
                out.pointee.app = name
                out.pointee.headers = arena.pairs(response.headers)
                out.pointee.header_count = response.headers.count
                out.pointee.body = arena.bytes(response.body)
                let items = arena.array(UInt64.self, count: response.items.count)
                for (place, item) in response.items.enumerated() { items[place] = item }
                out.pointee.items = UnsafePointer(items)
                out.pointee.item_count = response.items.count
            }
            var error = sbx_error.fresh
            let status = table.classify(
                raw, batch, responses.count, MemoryLayout<sbx_http_response>.stride,
                sink.table(in: arena), &error)
            return status == SBX_OK ? nil : PluginFault(status: status, error: error)
        }
        if case .some(.some(let fault)) = fault {
            instance.context.misbehaved("classify failed: \(fault.message)")
        }
        finish(sink)
        return (sink.outcomes, sink.requests)
    }

    private func report(_ sink: HTTPSink) {
        for what in sink.faults { instance.context.misbehaved(what) }
    }

    private func finish(_ sink: HTTPSink) {
        let before = sink.faults.count
        sink.settleForgotten()
        for what in sink.faults.dropFirst(before) { instance.context.misbehaved(what) }
    }

    private static func batch(
        _ deliveries: [Delivery], in arena: CArena
    ) -> UnsafePointer<sbx_delivery> {
        let out = arena.array(sbx_delivery.self, count: deliveries.count)
        let devices = arena.array(sbx_device.self, count: deliveries.count)
        // Equal contents must have equal pointers: that is how a plugin renders them once.
        var contents: [ObjectIdentifier: UnsafePointer<sbx_notification>] = [:]
        var last: (id: ObjectIdentifier, pointer: UnsafePointer<sbx_notification>)?
        for (index, delivery) in deliveries.enumerated() {
            let id = ObjectIdentifier(delivery.content)
            if last?.id != id {
                let known = contents[id] ?? arena.notification(delivery.content.notification)
                contents[id] = known
                last = (id, known)
            }
            arena.write(delivery.device, to: devices + index)
            let entry = out + index
            entry.pointee.struct_size = UInt32(MemoryLayout<sbx_delivery>.size)
            if let badge = delivery.badge {
                entry.pointee.flags = SBX_D_BADGE
                entry.pointee.badge = badge
            }
            entry.pointee.attempt = delivery.attempt
            entry.pointee.id = delivery.id
            entry.pointee.deadline_unix_ms = delivery.deadlineUnixMs
            entry.pointee.stable_id = arena.text(delivery.stableID)
            entry.pointee.notification = last?.pointer
            entry.pointee.device = UnsafePointer(devices + index)
        }
        return UnsafePointer(out)
    }
}
