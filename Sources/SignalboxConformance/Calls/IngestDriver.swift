internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Calls the ingest role.
struct IngestDriver: Sendable {
    /// The result of one request.
    struct Answer: Sendable {
        /// What handle() returned, or what was passed to finish().
        var result: CallResult
        /// What the gateway makes of it; nil if the request was never finished.
        var made: IngestResult?
        var refusals: [String]

        /// The HTTP status that the gateway answers with.
        var status: UInt32 {
            if let answer = made?.answer { return answer.status }
            guard let made, let fault = made.fault else {
                return made?.events.isEmpty == false ? 200 : 202
            }
            switch fault.kind {
            case .invalid: return 400
            case .auth: return 401
            case .notFound: return 404
            case .tooLarge: return 413
            case .again: return 503
            default: return 500
            }
        }
    }

    let subject: Subject
    let table: sbx_ingest
    let limits = Limits()

    /// The paths that the instance serves.
    func paths() -> Result<[IngestPath], CallFault> {
        var found: [IngestPath] = []
        let result = subject.call(.control, "paths()") { _, _ in
            var start: UnsafePointer<sbx_ingest_path>?
            var count = 0
            var stride = 0
            let status = table.paths(subject.raw, &start, &count, &stride)
            if status == SBX_OK, let start, count > 0 {
                let structs = subject.probe.bare.structs
                let read = structs.reading("paths()") { () throws(StructFault) in
                    try structs.paths(start, count, stride: stride)
                }
                found = read ?? []
            }
            return status
        }
        return result.isOK ? .success(found) : .failure(CallFault(result: result))
    }

    /// Handles a request and waits for its end, at most three seconds.
    func handle(_ request: IngestRequest, shape: Shape = .plain) -> Answer {
        let gate = Gate<IngestResult?>(nil)
        let sink = subject.probe.bare.ingestSink(
            limits: limits, receivedUnixMs: request.receivedUnixMs
        ) { result in gate.updateAll { $0 = result } }
        let probe = SinkProbe(sink.table, place: "handle()") { [weak sink] function in
            function == "emit" ? sink?.refusal ?? "" : ""
        }
        let result = subject.call(.worker, "handle()") { arena, error in
            let given = arena.request(request)
            let shaper = Shaper(shape)
            let shaped = shaper.request(given)
            return withExtendedLifetime(shaper) {
                table.handle(subject.raw, shaped, probe.raw, error)
            }
        }
        // A finished sink stays allocated, so that a plugin that still uses it is reported.
        _ = Unmanaged.passRetained(sink)
        _ = sink.returned(
            result.isOK
                ? nil : PluginFault(.init(rawValue: result.status) ?? .internal, result.words))
        let deadline = SystemClock.monotonicNs + 3_000_000_000
        let made: IngestResult? = gate.wait(until: { found in
            if let found { return (.some(found), nil) }
            return SystemClock.monotonicNs >= deadline ? (.some(nil), nil) : (nil, deadline)
        })
        if made != nil { probe.close() }
        let answer = Answer(result: result, made: made, refusals: probe.refusals)
        for reject in made?.rejects ?? [] {
            subject.watch(reject.reason, "the reason of a reject()")
            subject.watch(reject.detail, "the detail of a reject()")
        }
        if let fault = made?.fault { subject.watch(fault.message, "the error of finish()") }
        return answer
    }
}

/// A call that failed.
struct CallFault: Error {
    var result: CallResult
}
