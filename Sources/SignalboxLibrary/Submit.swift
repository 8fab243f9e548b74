public import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

// The functions of gateway.h that submit events; gateway.h documents them.

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
    let order = Submission(gateway, source, done, HostContext(pointer: context), error)
    return order.submit(events, n, stride, isWaiting: done == nil)
}

/// Submits events as JSON; see gateway.h.
@c @implementation
public func sbx_gateway_submit_json(
    _ gateway: OpaquePointer?, _ source: sbx_str, _ json: sbx_str, _ done: SubmissionDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    let order = Submission(gateway, source, done, HostContext(pointer: context), error)
    return order.submit(json, isWaiting: done == nil)
}

/// Submits events as structs and waits; see gateway.h.
@c @implementation
public func sbx_gateway_submit_wait(
    _ gateway: OpaquePointer?, _ source: sbx_str, _ events: UnsafePointer<sbx_event>?, _ n: Int,
    _ stride: Int, _ done: SubmissionDone?, _ context: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    let order = Submission(gateway, source, done, HostContext(pointer: context), error)
    return order.submit(events, n, stride, isWaiting: true)
}

/// Submits events as JSON and waits; see gateway.h.
@c @implementation
public func sbx_gateway_submit_json_wait(
    _ gateway: OpaquePointer?, _ source: sbx_str, _ json: sbx_str, _ done: SubmissionDone?,
    _ context: UnsafeMutableRawPointer?, _ error: UnsafeMutablePointer<sbx_error>?
) -> sbx_status {
    let order = Submission(gateway, source, done, HostContext(pointer: context), error)
    return order.submit(json, isWaiting: true)
}

/// One call of these functions.
private struct Submission {
    let gateway: OpaquePointer?
    let source: String
    let done: SubmissionDone?
    let context: HostContext
    let error: UnsafeMutablePointer<sbx_error>?

    init(
        _ gateway: OpaquePointer?, _ source: sbx_str, _ done: SubmissionDone?,
        _ context: HostContext, _ error: UnsafeMutablePointer<sbx_error>?
    ) {
        self.gateway = gateway
        self.source = source.text
        self.done = done
        self.context = context
        self.error = error
    }

    func submit(
        _ events: UnsafePointer<sbx_event>?, _ n: Int, _ stride: Int, isWaiting: Bool
    ) -> sbx_status {
        guard n == 0 || events != nil else {
            return fail(error, SBX_E_INVALID, "events must be given")
        }
        let read = Result { () throws(StructFault) in try Events.read(events, n, stride) }
        switch read {
        case .success(let events): return submit(events, isWaiting: isWaiting)
        case .failure(let fault): return fail(error, SBX_E_INVALID, "the program \(fault)")
        }
    }

    func submit(_ json: sbx_str, isWaiting: Bool) -> sbx_status {
        let read = Result { () throws(SubmitError) in try EventJSON.read(Array(json.bytes)) }
        switch read {
        case .success(let events): return submit(events, isWaiting: isWaiting)
        case .failure(let fault): return fail(error, fault.status, fault.message)
        }
    }

    private func submit(_ events: [Event], isWaiting: Bool) -> sbx_status {
        guard let running = GatewayHandle.from(gateway)?.gateway else {
            return fail(error, SBX_E_STOPPING, "the gateway does not run")
        }
        let (source, done, context) = (source, done, context)
        let result: Result<Void, SubmitError>
        if isWaiting {
            let stored = Blocking.value { () -> Result<[SubmittedEvent], SubmitError> in
                do throws(SubmitError) {
                    return .success(
                        try await running.submit(
                            events, from: source, findsOriginals: done != nil))
                } catch {
                    return .failure(error)
                }
            }
            if let done, case .success = stored { Self.tell(stored, done, context) }
            result = stored.map { _ in }
        } else {
            result = Result { () throws(SubmitError) in
                try running.submit(events, from: source) { stored in
                    if let done { Self.tell(stored, done, context) }
                }
            }
        }
        guard case .failure(let fault) = result else { return SBX_OK }
        return fail(error, fault.status, fault.message)
    }

    private static func tell(
        _ result: Result<[SubmittedEvent], SubmitError>, _ done: SubmissionDone,
        _ context: HostContext
    ) {
        var submission = sbx_submission()
        submission.struct_size = UInt32(MemoryLayout<sbx_submission>.size)
        submission.event_stride = MemoryLayout<sbx_submitted>.stride
        switch result {
        case .failure(let fault):
            submission.status = fault.status
            done(context.pointer, &submission)
        case .success(let stored):
            let ids = stored.map { $0.isDuplicate ? 0 : $0.id }
            let events = stored.map(Self.submitted)
            ids.withUnsafeBufferPointer { ids in
                events.withUnsafeBufferPointer { events in
                    submission.event_ids = ids.baseAddress
                    submission.event_count = ids.count
                    submission.events = events.baseAddress
                    done(context.pointer, &submission)
                }
            }
        }
    }

    private static func submitted(_ event: SubmittedEvent) -> sbx_submitted {
        sbx_submitted(
            struct_size: UInt32(MemoryLayout<sbx_submitted>.size), result: event.result.rawValue,
            event_id: event.id, original_id: event.originalID ?? 0,
            deliveries: UInt64(event.deliveryCount))
    }
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
