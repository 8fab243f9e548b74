public import CSignalbox
internal import Signalbox
internal import SignalboxCore

// The functions of gateway.h that give work to a running gateway; gateway.h documents them.

/// Receives the result of submitted events.
public typealias SubmissionDone =
    @convention(c) (
        UnsafeMutableRawPointer?, UnsafePointer<sbx_submission>?
    ) -> Void

/// Submits events as structs; see gateway.h.
@c @implementation
public func sbx_gateway_submit(
    _ gateway: OpaquePointer?, _ source: sbx_str, _ events: UnsafePointer<sbx_event>?, _ n: Int,
    _ stride: Int, _ done: SubmissionDone?, _ context: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard n == 0 || (events != nil && stride >= MemoryLayout<UInt32>.size) else {
        return fail(error, SBX_E_INVALID, "events and stride must be given")
    }
    return submit(
        Events.read(events, n, stride), from: source, gateway, done, HostContext(pointer: context),
        error)
}

/// Submits events as JSON; see gateway.h.
@c @implementation
public func sbx_gateway_submit_json(
    _ gateway: OpaquePointer?, _ source: sbx_str, _ json: sbx_str, _ done: SubmissionDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    switch Result(catching: { () throws(SubmitError) in try EventJSON.read(Array(json.bytes)) }) {
    case .success(let events):
        return submit(events, from: source, gateway, done, HostContext(pointer: context), error)
    case .failure(let fault): return fail(error, fault.status, fault.message)
    }
}

private func submit(
    _ events: [Event], from source: sbx_str, _ gateway: OpaquePointer?, _ done: SubmissionDone?,
    _ context: HostContext, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    guard let running = GatewayHandle.from(gateway)?.gateway else {
        return fail(error, SBX_E_STOPPING, "the gateway does not run")
    }
    let name = source.text
    guard let done else {
        let result = Blocking.value { () -> Result<[SubmittedEvent], SubmitError> in
            do throws(SubmitError) {
                return .success(try await running.submit(events, from: name))
            } catch {
                return .failure(error)
            }
        }
        guard case .failure(let fault) = result else { return SBX_OK }
        return fail(error, fault.status, fault.message)
    }
    let result = Result { () throws(SubmitError) in
        try running.submit(events, from: name) { result in
            var submission = sbx_submission()
            submission.struct_size = UInt32(MemoryLayout<sbx_submission>.size)
            switch result {
            case .failure(let fault):
                submission.status = fault.status
                done(context.pointer, &submission)
            case .success(let taken):
                let ids = taken.map(\.id)
                ids.withUnsafeBufferPointer { ids in
                    submission.event_ids = ids.baseAddress
                    submission.event_count = ids.count
                    done(context.pointer, &submission)
                }
            }
        }
    }
    guard case .failure(let fault) = result else { return SBX_OK }
    return fail(error, fault.status, fault.message)
}

extension SubmitError {
    var status: sbx_status {
        switch kind {
        case .invalid: SBX_E_INVALID
        case .tooLarge: SBX_E_TOO_LARGE
        case .again: SBX_E_AGAIN
        case .unreachable: SBX_E_UNREACHABLE
        case .stopping: SBX_E_STOPPING
        }
    }
}

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
    guard let given = GatewayRequest(request), let done else {
        return fail(
            error, SBX_E_INVALID, "request (method and path at least) and done must be given")
    }
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
    guard let given = GatewayRequest(request), let done else {
        return fail(
            error, SBX_E_INVALID, "request (method and path at least) and done must be given")
    }
    let context = HostContext(pointer: context)
    Task { give(await running.handle(given), to: done, context) }
    return SBX_OK
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
    fileprivate init?(_ given: UnsafePointer<sbx_request>?) {
        guard let given else { return nil }
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
