internal import CSignalbox

/// Asks a plugin where an app's requests go.
enum EndpointQuestion {
    typealias Call =
        @Sendable (
            OpaquePointer, sbx_str, UnsafeMutablePointer<sbx_endpoint>,
            UnsafeMutablePointer<sbx_error>
        ) -> sbx_status

    static func ask(
        _ instance: PluginInstance, app: String, _ call: @escaping Call
    ) async throws(PluginFault) -> SendEndpoint {
        let context = instance.context
        let asked = await instance.controlled { raw, arena -> Result<SendEndpoint, PluginFault> in
            let out = arena.make(sbx_endpoint.self)
            out.pointee.struct_size = UInt32(MemoryLayout<sbx_endpoint>.size)
            var error = sbx_error.fresh
            let status = call(raw.instance, arena.text(app), out, &error)
            guard status == SBX_OK else {
                return .failure(PluginFault(status: status, error: error))
            }
            return read(out.pointee, context)
        }
        return try (asked ?? .failure(instance.absence)).get()
    }

    /// The endpoint a plugin filled in, with its secrets looked up.
    static func read(
        _ raw: sbx_endpoint, _ context: InstanceContext
    ) -> Result<SendEndpoint, PluginFault> {
        let filled = context.structs.reading("endpoint()") { () throws(StructFault) in
            try context.structs.filled(raw)
        }
        guard let raw = filled else {
            return .failure(PluginFault(.invalid, "endpoint() changed struct_size of sbx_endpoint"))
        }
        guard raw.flags & SBX_ENDPOINT_REST == 0 || raw.client_certificate.isEmpty else {
            return .failure(
                PluginFault(.invalid, "an endpoint with SBX_ENDPOINT_REST has a client certificate")
            )
        }
        let identity: SendEndpoint.ClientIdentity?
        do throws(PluginFault) {
            identity = try self.identity(raw, context)
        } catch {
            return .failure(error)
        }
        let file = raw.ca_file.text
        var endpoint = SendEndpoint(
            origin: raw.origin.text, caFile: file.isEmpty ? nil : file,
            clientIdentity: identity,
            isALPNRequired: raw.flags & SBX_ENDPOINT_ALPN_REQUIRED != 0,
            isOneStreamFirst: raw.flags & SBX_ENDPOINT_ONE_STREAM_FIRST != 0,
            isAtMostOnce: raw.flags & SBX_ENDPOINT_AT_MOST_ONCE != 0,
            requestTimeoutMs: Int(raw.request_timeout_ms),
            connectTimeoutMs: Int(raw.connect_timeout_ms), pingIdleMs: Int(raw.ping_idle_ms),
            pingTimeoutMs: Int(raw.ping_timeout_ms),
            connectionsMax: Int(raw.connections_max), streamsMax: Int(raw.streams_max))
        endpoint.isREST = raw.flags & SBX_ENDPOINT_REST != 0
        endpoint.allowsPrivateOrigins = raw.flags & SBX_ENDPOINT_PRIVATE_ORIGINS != 0
        endpoint.isShared = raw.flags & SBX_ENDPOINT_SHARED != 0
        return .success(endpoint)
    }

    private static func identity(
        _ raw: sbx_endpoint, _ context: InstanceContext
    ) throws(PluginFault) -> SendEndpoint.ClientIdentity? {
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
        return SendEndpoint.ClientIdentity(certificate: made.certificate, key: made.key)
    }
}
