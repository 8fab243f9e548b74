internal import CSignalbox
internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// `sbx.http/1`.
enum HTTPService {
    static var table: sbx_http {
        var table = sbx_http()
        table.submit = { host, call, done, plugin in
            guard let context = InstanceContext.from(host),
                let call = HTTPService.read(call, context, "submit() of sbx.http/1"), let done
            else { return SBX_E_INVALID }
            let plugin = PluginContext(pointer: plugin)
            return context.answering { answered in
                HTTPService.start(call, context.services) { result in
                    answered { HTTPService.report(result, to: done, plugin) }
                }
            }
        }
        table.call = { host, call, done, plugin in
            guard let context = InstanceContext.from(host),
                let call = HTTPService.read(call, context, "call() of sbx.http/1"), let done
            else { return SBX_E_INVALID }
            guard context.isControlCall("call() of sbx.http/1") else { return SBX_E_INVALID }
            let gate = Gate<Outcome?>(nil)
            let status = HTTPService.start(call, context.services) { result in
                gate.update { $0 = result }
            }
            guard status == SBX_OK else { return status }
            // The call itself has a deadline, so this ends.
            let result = gate.wait(for: { $0 })
            if case .failure(let fault) = result {
                context.callFault.withLock { $0 = fault.message }
            }
            HTTPService.report(result, to: done, PluginContext(pointer: plugin))
            return SBX_OK
        }
        return table
    }

    private typealias Outcome = Result<PluginHTTPAnswer, PluginFault>

    private static func start(
        _ call: PluginHTTPCall, _ services: any HostServices,
        _ done: @escaping @Sendable (Outcome) -> Void
    ) -> sbx_status {
        PluginFault.status { () throws(PluginFault) in try services.call(call, done: done) }
    }

    private static func read(
        _ given: UnsafePointer<sbx_http_call>?, _ context: InstanceContext, _ function: String
    ) -> PluginHTTPCall? {
        let structs = context.structs
        let read = given.flatMap { given in
            structs.reading(function) { () throws(StructFault) in try structs.read(given) }
        }
        guard let call = read else { return nil }
        let method = call.method.text
        return PluginHTTPCall(
            method: method.isEmpty ? "GET" : method, url: call.url.text,
            headers: KeyValues.copy(call.headers, call.header_count), body: Array(call.body.raw),
            caFile: call.ca_file.text, timeoutMs: call.timeout_ms, redirectsMax: call.redirects_max,
            refusesPrivateAddresses: call.flags & SBX_HTTP_NO_PRIVATE != 0)
    }

    private static func report(_ result: Outcome, to done: sbx_http_done, _ plugin: PluginContext) {
        CallScope.run { arena in
            let answer = arena.make(sbx_http_answer.self)
            answer.pointee.struct_size = UInt32(MemoryLayout<sbx_http_answer>.size)
            switch result {
            case .success(let given):
                answer.pointee.status = SBX_OK
                answer.pointee.http_status = given.status
                let headers = arena.array(sbx_kv.self, count: given.headers.count)
                for (index, header) in given.headers.enumerated() {
                    headers[index] = sbx_kv(
                        key: arena.text(header.key), value: arena.text(header.value))
                }
                answer.pointee.headers = UnsafePointer(headers)
                answer.pointee.header_count = given.headers.count
                answer.pointee.body = arena.bytes(given.body)
            case .failure(let fault): answer.pointee.status = fault.kind.rawValue
            }
            done(plugin.pointer, answer)
        }
    }
}
