internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxDispatch
internal import SignalboxHTTP

/// What a receiver's answer to a batch means.
enum OutcomeVerdict: Sendable {
    /// It accepted the batch.
    case taken
    /// It may accept the same batch later.
    case later(Breaker.Cause, hintMs: UInt64, reason: String, detail: String)
    /// The batch is too large; a smaller one may be accepted.
    case tooLarge
    /// It rejects all such batches until an operator fixes it.
    case refused(reason: String)

    /// Reads the answer to a batch of `count` outcomes.
    init(_ answer: RESTAnswer, count: Int) {
        let seconds = answer.header("retry-after").flatMap { UInt64($0) } ?? 0
        let hintMs = min(seconds, 86_400) * 1_000
        self =
            switch answer.status {
            case 200..<300: .taken
            case 408, 500...: .later(.down, hintMs: hintMs, reason: "\(answer.status)", detail: "")
            case 429: .later(.throttled, hintMs: hintMs, reason: "429", detail: "")
            case 413 where count > 1: .tooLarge
            // Redirects are not followed: a signed body goes only where the configuration says.
            default: .refused(reason: "\(answer.status)")
            }
    }

    init(_ fault: RESTFault) { self.init(fault.kind, fault.message) }

    init(_ kind: RESTFault.Kind, _ message: String) {
        self =
            kind == .invalid
            ? .refused(reason: "invalid")
            : .later(.down, hintMs: 0, reason: "\(kind)", detail: message)
    }

    /// For a metric.
    var name: String {
        switch self {
        case .taken: "taken"
        case .later: "failed"
        case .tooLarge, .refused: "refused"
        }
    }

    var reason: String {
        switch self {
        case .taken: ""
        case .later(_, _, let reason, _), .refused(let reason): reason
        case .tooLarge: "413"
        }
    }

    var detail: String { if case .later(_, _, _, let detail) = self { detail } else { "" } }

    /// What it means for the breaker.
    var breakers: Breaker.Verdict {
        switch self {
        case .taken: .up
        case .later(let cause, let hintMs, _, _): .closed(cause, hintMs: hintMs)
        case .tooLarge: .closed(.throttled, hintMs: 0)
        case .refused: .closed(.misconfigured, hintMs: 0)
        }
    }
}

/// Proves to a receiver that a batch comes from this gateway, and when it was made.
enum OutcomeSignature {
    /// `t=UNIX_MS,v1=HEX`: HMAC-SHA-256 over the time, a full stop and the body.
    static func of(_ body: [UInt8], secret: String, unixMs: UInt64) -> String {
        let digest = HMACDigest.sha256(
            key: Array(secret.utf8), data: Array("\(unixMs).".utf8) + body)
        return "t=\(unixMs),v1=\(Hex.encode(digest))"
    }
}
