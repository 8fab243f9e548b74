internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// A copy of a request that a plugin rendered.
struct RenderedRequest: Sendable, Equatable {
    var method: String
    var path: [UInt8]
    /// Each as `name: value`, in their order.
    var headers: [[UInt8]]
    var body: [UInt8]
    var items: [UInt64]

    init(_ request: RequestBatch.Request, in batch: RequestBatch) {
        method = batch.text(request.method)
        path = Array(batch[request.path])
        headers = batch.headers[
            Int(request.headers.lowerBound)..<Int(request.headers.upperBound)
        ].map { Array(batch[$0.name]) + [UInt8(ascii: ":"), 0x20] + Array(batch[$0.value]) }
        body = Array(batch[request.body])
        items = Array(
            batch.items[Int(request.items.lowerBound)..<Int(request.items.upperBound)])
    }

    /// All of the request, joined.
    var bytes: [UInt8] {
        var out = Array(method.utf8) + [0x20] + path
        for header in headers { out += [0x0A] + header }
        return out + [0x0A, 0x0A] + body
    }
}

/// What prepare() or classify() made of a batch.
struct Translation: Sendable {
    var result: CallResult
    var requests: [RenderedRequest]
    var outcomes: [Outcome]
    /// What the host rejected.
    var refusals: [String]
    /// What the host accepted and calls misbehaviour: forgotten items, unknown kinds.
    var faults: [String]

    /// Equal fingerprints mean equal translations.
    var fingerprint: [UInt8] {
        var out = Array("\(result.status)".utf8)
        for request in requests { out += request.bytes + Array("\(request.items)".utf8) }
        for outcome in outcomes {
            out += Array("\(outcome.item) \(outcome.kind) \(outcome.reason)\n".utf8)
        }
        return out
    }
}

/// The calls that send-http and register share.
struct TranslatorDriver: Sendable {
    typealias Classify =
        @convention(c) (
            OpaquePointer?, UnsafePointer<sbx_http_response>?, Int, Int,
            UnsafeMutablePointer<sbx_http_sink>?, UnsafeMutablePointer<sbx_error>?
        ) -> sbx_status
    typealias Endpoint =
        @convention(c) (
            OpaquePointer?, sbx_str, UnsafeMutablePointer<sbx_endpoint>?,
            UnsafeMutablePointer<sbx_error>?
        ) -> sbx_status

    let subject: Subject
    let app: String

    /// Runs prepare() or classify() with a sink for these items.
    func translate(
        _ name: String, items: [UInt64],
        _ body: (CArena, UnsafeMutablePointer<sbx_http_sink>, UnsafeMutablePointer<sbx_error>) ->
            sbx_status
    ) -> Translation {
        let sink = HTTPSink(items: items, structs: subject.probe.bare.structs)
        var probe: SinkProbe<sbx_http_sink>?
        let result = subject.call(.worker, name) { arena, error in
            let made = SinkProbe(sink.table(in: arena), place: name) { [weak sink] _ in
                sink?.refusal ?? ""
            }
            probe = made
            return withExtendedLifetime(sink) { body(arena, made.raw, error) }
        }
        probe?.close()
        // AGAIN, like any failure that took nothing, leaves the batch to the host.
        if result.isOK || !sink.isUntouched { sink.settleForgotten() }
        let translation = Translation(
            result: result,
            requests: sink.requests.requests.map { RenderedRequest($0, in: sink.requests) },
            outcomes: sink.outcomes.filter {
                !["plugin_forgot", "plugin_bad_request", "plugin_bad_struct"].contains($0.reason)
            },
            refusals: probe?.refusals ?? [], faults: sink.faults)
        for outcome in translation.outcomes {
            subject.watch(outcome.reason, "a reason of \(name)")
            subject.watch(outcome.detail, "a detail of \(name)")
        }
        return translation
    }

    func classify(
        _ responses: [HTTPResponse], _ function: Classify, shape: Shape = .plain
    ) -> Translation {
        translate("classify()", items: responses.flatMap(\.items)) { arena, sink, error in
            let batch = TranslatorCalls.batch(responses, app: app, in: arena)
            let shaper = Shaper(shape)
            let (start, stride) = shaper.responses(batch, responses.count)
            return withExtendedLifetime(shaper) {
                function(subject.raw, start, responses.count, stride, sink, error)
            }
        }
    }

    /// Asks where the app's requests go.
    func endpoint(
        _ function: Endpoint
    ) -> (result: CallResult, endpoint: Result<SendEndpoint, PluginFault>?) {
        var found: Result<SendEndpoint, PluginFault>?
        let result = subject.call(.control, "endpoint()") { arena, error in
            let out = arena.make(sbx_endpoint.self)
            out.pointee.struct_size = UInt32(MemoryLayout<sbx_endpoint>.size)
            let status = function(subject.raw, arena.text(app), out, error)
            if status == SBX_OK { found = subject.probe.bare.endpoint(out.pointee) }
            return status
        }
        return (result, found)
    }
}

extension TranslatorDriver {
    func prepare(
        _ deliveries: [Delivery], _ table: sbx_send_http, shape: Shape = .plain
    ) -> Translation {
        translate("prepare()", items: deliveries.map(\.id)) { arena, sink, error in
            let shaper = Shaper(shape)
            let (start, stride) = shaper.deliveries(
                arena.deliveries(deliveries), deliveries.count)
            return withExtendedLifetime(shaper) {
                table.prepare(
                    subject.raw, arena.text(app), start, deliveries.count, stride, sink, error)
            }
        }
    }

    func prepare(
        _ changes: [(id: UInt64, change: DeviceChange)], _ table: sbx_register,
        shape: Shape = .plain
    ) -> Translation {
        translate("prepare()", items: changes.map(\.id)) { arena, sink, error in
            let shaper = Shaper(shape)
            let (start, stride) = shaper.changes(
                RegisterRole.batch(changes, in: arena), changes.count)
            return withExtendedLifetime(shaper) {
                table.prepare(
                    subject.raw, arena.text(app), start, changes.count, stride, sink, error)
            }
        }
    }
}
