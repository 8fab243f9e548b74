public import CSignalbox
internal import Signalbox
internal import SignalboxCore

// The functions of gateway.h that hand requests to a running gateway; gateway.h documents them.

/// Receives the answer to a request.
public typealias AnswerDone =
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafePointer<sbx_answer>?
    ) -> Void

/// Answers a request and waits; see gateway.h.
@c @implementation
public func sbx_gateway_handle(
    _ gateway: OpaquePointer?, _ request: UnsafePointer<sbx_request>?, _ done: AnswerDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else {
        return fail(error, SBX_E_STOPPING, "the gateway does not run")
    }
    guard let given = GatewayRequest(request), let done else { return malformed(request, error) }
    give(Blocking.value { await running.handle(given) }, to: done, HostContext(pointer: context))
    return SBX_OK
}

/// Answers a request later; see gateway.h.
@c @implementation
public func sbx_gateway_handle_async(
    _ gateway: OpaquePointer?, _ request: UnsafePointer<sbx_request>?, _ done: AnswerDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else {
        return fail(error, SBX_E_STOPPING, "the gateway does not run")
    }
    guard let given = GatewayRequest(request), let done else { return malformed(request, error) }
    let context = HostContext(pointer: context)
    Task { give(await running.handle(given), to: done, context) }
    return SBX_OK
}

/// Answers a request of an operator; see gateway.h.
@c @implementation
public func sbx_gateway_admin(
    _ gateway: OpaquePointer?, _ request: UnsafePointer<sbx_request>?, _ done: AnswerDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else {
        return fail(error, SBX_E_STOPPING, "the gateway does not run")
    }
    guard let given = GatewayRequest(request), let done else { return malformed(request, error) }
    give(Blocking.value { await running.admin(given) }, to: done, HostContext(pointer: context))
    return SBX_OK
}

private func malformed(
    _ request: UnsafePointer<sbx_request>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    if let size = request?.pointee.struct_size, size < GatewayRequest.sizeMin {
        return fail(error, SBX_E_INVALID, sizeFault("sbx_request", size))
    }
    return fail(error, SBX_E_INVALID, "request (method and path at least) and done must be given")
}

private func give(_ answer: GatewayAnswer, to done: AnswerDone, _ context: HostContext) {
    let lent = Lent()
    var out = sbx_answer()
    out.struct_size = UInt32(MemoryLayout<sbx_answer>.size)
    out.http_status = UInt32(answer.status)
    out.headers = lent.pairs(answer.headers)
    out.header_count = answer.headers.count
    out.body = answer.body.withUnsafeBytes { lent.bytes($0) }
    done(context.pointer, &out)
}

extension GatewayRequest {
    /// The struct is as in contract 1.0.
    fileprivate static let sizeMin = UInt32(MemoryLayout<sbx_request>.size)

    fileprivate init?(_ given: UnsafePointer<sbx_request>?) {
        guard let given, given.pointee.struct_size >= Self.sizeMin else { return nil }
        let raw = known(given, given.pointee.struct_size, sbx_request())
        let (method, path) = (raw.method.text, raw.path.text)
        guard !method.isEmpty, path.hasPrefix("/") else { return nil }
        self.init(
            method: method, path: path, headers: attributes(raw.headers, raw.header_count),
            body: Array(raw.body.bytes))
        query = raw.query.text
        remote = raw.remote.text
    }
}
