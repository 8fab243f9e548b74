package import CSignalbox
package import SignalboxCore
internal import SignalboxThreads

/// Calls that the translating roles share.
package enum TranslatorCalls {
    typealias Prepare = (
        OpaquePointer, CArena, UnsafeMutablePointer<sbx_http_sink>, UnsafeMutablePointer<sbx_error>
    ) -> sbx_status
    typealias Classify = (
        OpaquePointer, UnsafePointer<sbx_http_response>, Int, UnsafeMutablePointer<sbx_http_sink>,
        UnsafeMutablePointer<sbx_error>
    ) -> sbx_status

    static func prepare(
        _ instance: PluginInstance, _ kind: CallKind, _ deliveries: [Delivery], _ call: Prepare
    ) -> PrepareResult {
        let sink = HTTPSink(
            items: deliveries.map(\.id), of: deliveries, makesRequests: true,
            structs: instance.context.structs)
        let called = instance.work(kind) { raw, arena -> (sbx_status, sbx_error) in
            var error = sbx_error.fresh
            let status = sink.lent(to: instance.context) { call(raw, arena, $0, &error) }
            return (status, error)
        }
        guard let (status, error) = called else {
            let fault = instance.absence
            return fault.kind == .again ? .again(isRestarting: true) : .failed(fault)
        }
        if status != SBX_OK, sink.isUntouched {
            report(sink, instance)
            return status == SBX_E_AGAIN
                ? .again(isRestarting: false)
                : .failed(PluginFault(status: status, error: error, otherwise: sink.refusedWords))
        }
        if status != SBX_OK { instance.context.misbehaved("took a part of a batch and failed") }
        sink.settleForgotten()
        report(sink, instance)
        return .ready(sink.requests, settled: sink.outcomes)
    }

    static func classify(
        _ instance: PluginInstance, _ kind: CallKind, app: String, responses: [HTTPResponse],
        _ call: Classify
    ) -> (settled: [Outcome], requests: RequestBatch) {
        let items = responses.count == 1 ? responses[0].items : responses.flatMap(\.items)
        let sink = HTTPSink(items: items, structs: instance.context.structs)
        let fault = instance.work(kind) { raw, arena -> PluginFault? in
            var error = sbx_error.fresh
            let batch = Self.batch(responses, app: app, in: arena)
            let status = sink.lent(to: instance.context) {
                call(raw, batch, responses.count, $0, &error)
            }
            return status == SBX_OK
                ? nil : PluginFault(status: status, error: error, otherwise: sink.refusedWords)
        }
        if case .some(.some(let fault)) = fault {
            instance.context.misbehaved("classify failed: \(fault.message)")
        }
        sink.settleForgotten(of: responses)
        report(sink, instance)
        return (sink.outcomes, sink.requests)
    }

    private static func report(_ sink: HTTPSink, _ instance: PluginInstance) {
        for what in sink.faults { instance.context.misbehaved(what) }
    }

    /// Responses for a plugin.
    package static func batch(
        _ responses: [HTTPResponse], app: String, in arena: CArena
    ) -> UnsafePointer<sbx_http_response> {
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
            out.pointee.trailer_count = UInt64(response.trailerCount)
            if !response.context.isEmpty { out.pointee.context = arena.bytes(response.context) }
        }
        return UnsafePointer(batch)
    }
}
