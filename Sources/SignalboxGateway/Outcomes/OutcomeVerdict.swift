internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxDispatch
internal import SignalboxHTTP

extension OutcomeVerdict {
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
