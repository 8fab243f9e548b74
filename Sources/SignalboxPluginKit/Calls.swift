internal import CSignalbox

/// The functions of `sbx_ingest`.
enum IngestCalls {
    static var table: sbx_ingest {
        var table = sbx_ingest()
        table.paths = { instance, paths, count, stride in
            guard let box = InstanceBox.from(instance), let paths, let count, let stride,
                let plugin = box.ingest
            else { return SBX_E_INTERNAL }
            let list = plugin.paths
            let out = box.kept.array(sbx_ingest_path.self, list.count)
            for (index, path) in list.enumerated() {
                out[index].struct_size = UInt32(MemoryLayout<sbx_ingest_path>.size)
                out[index].pattern = box.kept.text(path.pattern)
                out[index].methods = box.kept.text(path.methods.joined(separator: ","))
            }
            paths.pointee = UnsafePointer(out)
            count.pointee = list.count
            stride.pointee = MemoryLayout<sbx_ingest_path>.stride
            return SBX_OK
        }
        table.handle = { instance, request, sink, error in
            guard let request, let sink else { return SBX_E_INTERNAL }
            return role(instance, error, { $0.ingest }) { plugin, _ throws(PluginError) in
                try plugin.handle(Request(request), IngestSink(sink))
            }
        }
        return table
    }
}

/// The functions of `sbx_build`.
enum BuildCalls {
    static var table: sbx_build {
        var table = sbx_build()
        table.build = { instance, input, sink, error in
            guard let input, let sink else { return SBX_E_INTERNAL }
            return role(instance, error, { $0.builder }) { plugin, box throws(PluginError) in
                try plugin.build(BuildInput(input, host: box.host), BuildSink(sink))
            }
        }
        return table
    }
}

/// The functions of `sbx_send_http`.
enum SendHTTPCalls {
    static var table: sbx_send_http {
        var table = sbx_send_http()
        table.endpoint = { instance, app, out, error in
            guard let out else { return SBX_E_INTERNAL }
            return role(instance, error, { $0.sendHTTP }) { plugin, box throws(PluginError) in
                SendHTTPCalls.write(try plugin.endpoint(app: app.text), to: out, box.kept)
            }
        }
        table.prepare = { instance, app, deliveries, count, stride, sink, error in
            guard let sink else { return SBX_E_INTERNAL }
            return role(instance, error, { $0.sendHTTP }) { plugin, _ throws(PluginError) in
                let batch = DeliveryBatch(
                    deliveries, count: count, stride: stride, app: app.text)
                try plugin.prepare(batch, RequestSink(sink))
            }
        }
        table.classify = { instance, responses, count, stride, sink, error in
            guard let sink else { return SBX_E_INTERNAL }
            return role(instance, error, { $0.sendHTTP }) { plugin, _ throws(PluginError) in
                let batch = ResponseBatch(responses, count: count, stride: stride)
                try plugin.classify(batch, RequestSink(sink))
            }
        }
        return table
    }

    static func write(
        _ endpoint: Endpoint, to out: UnsafeMutablePointer<sbx_endpoint>, _ kept: Arena
    ) {
        var flags: UInt32 = 0
        if endpoint.isALPNRequired { flags |= SBX_ENDPOINT_ALPN_REQUIRED }
        if endpoint.isOneStreamFirst { flags |= SBX_ENDPOINT_ONE_STREAM_FIRST }
        if endpoint.isAtMostOnce { flags |= SBX_ENDPOINT_AT_MOST_ONCE }
        if endpoint.isREST { flags |= SBX_ENDPOINT_REST }
        if endpoint.allowsPrivateOrigins { flags |= SBX_ENDPOINT_PRIVATE_ORIGINS }
        if endpoint.isShared { flags |= SBX_ENDPOINT_SHARED }
        out.pointee.flags = flags
        out.pointee.origin = kept.text(endpoint.origin)
        out.pointee.ca_file = kept.text(endpoint.caFile)
        out.pointee.client_certificate = kept.text(endpoint.clientCertificate)
        out.pointee.client_key = kept.text(endpoint.clientKey)
        out.pointee.client_password = kept.text(endpoint.clientPassword)
        out.pointee.request_timeout_ms = endpoint.requestTimeoutMs
        out.pointee.connect_timeout_ms = endpoint.connectTimeoutMs
        out.pointee.ping_idle_ms = endpoint.pingIdleMs
        out.pointee.ping_timeout_ms = endpoint.pingTimeoutMs
        out.pointee.connections_max = endpoint.connectionsMax
        out.pointee.streams_max = endpoint.streamsMax
    }
}
