internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxPluginHost
internal import SignalboxThreads

/// Sends a batch to its receiver, as a request or through a plugin.
struct OutcomeTransport: Sendable {
    let rest: RESTClient
    let workers: WorkerThreads
    /// The current role of an instance.
    let observer: @Sendable (_ instance: String) -> (any Observing)?

    /// Most outcomes of a batch for this receiver.
    func countMax(of receiver: OutcomeReceiver) -> Int {
        let own = receiver.plugin.flatMap { observer($0)?.maxBatch }
        return min(own ?? OutcomeBatch.countMax, OutcomeBatch.countMax)
    }

    /// The receiver's answer; nil if the gateway is stopping.
    func send(
        _ batch: OutcomeBatch, to receiver: OutcomeReceiver, unixMs: UInt64
    ) async -> OutcomeVerdict? {
        switch receiver.target {
        case .web(let url, let secret, let caFile):
            await post(batch, receiver.name, url, secret, caFile, unixMs)
        case .plugin(let name): await hand(batch, to: name)
        }
    }

    private func post(
        _ batch: OutcomeBatch, _ name: String, _ url: String, _ secret: String, _ caFile: String?,
        _ unixMs: UInt64
    ) async -> OutcomeVerdict? {
        let body = batch.body
        var call = RESTCall(
            method: "POST", url: url,
            headers: [
                Attribute("content-type", "application/json"),
                Attribute(
                    "signalbox-signature",
                    OutcomeSignature.of(body, secret: secret, unixMs: unixMs)),
            ], body: body)
        call.caFile = caFile
        call.owner = "#outcomes \(name)"
        do {
            return OutcomeVerdict(try await rest.answer(call), count: batch.count)
        } catch let fault as RESTFault {
            return fault.kind == .stopping ? nil : OutcomeVerdict(fault)
        } catch {
            return OutcomeVerdict(RESTFault.Kind.lost, "\(error)")
        }
    }

    private func hand(_ batch: OutcomeBatch, to name: String) async -> OutcomeVerdict {
        guard let role = observer(name) else {
            return .later(
                .down, hintMs: 0, reason: "no_plugin", detail: "plugin \(name) is not running")
        }
        let observations = batch.outcomes.map { Observation(sequence: $0.sequence, json: $0.json) }
        let verdict = await withCheckedContinuation { continuation in
            workers.submitBounded {
                role.observe(observations) { continuation.resume(returning: $0) }
            }
        }
        return OutcomeVerdict(verdict)
    }
}

extension OutcomeVerdict {
    /// The answer of an observer.
    init(_ verdict: ObserveVerdict) {
        self =
            switch verdict {
            case .taken: .taken
            case .later(let ms, let reason): .later(.down, hintMs: ms, reason: reason, detail: "")
            case .refused(let reason): .refused(reason: reason)
            }
    }
}
