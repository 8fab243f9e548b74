import SignalboxPluginKit

/// An answer of Push Kit. Its `code` decides: HTTP 200 may carry any failure.
struct Answer {
    static let success = "80000000"
    private static let partlySent = "80100000"
    private static let deadToken = "80300007"
    private static let noPermission = "80300002"

    /// What a code means, in all cases.
    private struct Meaning: Sendable {
        var kind: Outcome.Kind
        var detail = ""
        var waitMs: UInt64 = 0
    }

    private static let meanings: [String: Meaning] = [
        "80100001": Meaning(kind: .rejected, detail: "Huawei refuses a parameter"),
        "80100002": Meaning(kind: .rejected, detail: "the message may have one token only"),
        "80100003": Meaning(kind: .rejected, detail: "Huawei refuses the message's structure"),
        "80100004": Meaning(kind: .rejected, detail: "Huawei refuses android.ttl"),
        "80100013": Meaning(kind: .rejected, detail: "Huawei refuses android.collapse_key"),
        "80100016": Meaning(kind: .rejected, detail: "Huawei finds sensitive words in the message"),
        "80100017": Meaning(
            kind: .throttled, detail: "over 100 messages to topics at once", waitMs: 60_000),
        "80100018": Meaning(
            kind: .rejected, detail: "the message differs from the one that was reviewed"),
        "80200001": Meaning(kind: .auth, detail: "client_id and client_secret are another app's"),
        "80200003": Meaning(kind: .auth),
        "80200005": Meaning(kind: .auth),
        "80300008": Meaning(kind: .rejected, detail: "the message is over 4096 bytes"),
        "80300010": Meaning(kind: .rejected, detail: "there are too many tokens, or none"),
        "80300011": Meaning(
            kind: .config,
            detail: "Huawei has not granted the app high priority: remove high_priority"),
        "80300013": Meaning(
            kind: .config, detail: "the receipt's address or its certificate is not valid"),
        "80600003": Meaning(kind: .retry, waitMs: 10_000),
        "81000001": Meaning(kind: .retry, waitMs: 10_000),
    ]

    let status: Int
    private let isV3: Bool
    private let code: String
    private let requestID: String
    /// Tokens that the message reached, and that it did not, if only a part was sent.
    private let counts: (success: Int64, failure: Int64)

    init(status: Int, json: JSON?, isV3: Bool, host: Host) {
        self.isV3 = isV3
        self.status = status
        let text = json?["code"]?.scalarText ?? ""
        // Anything else is not Huawei's, and may repeat what was sent.
        code = text.utf8.count == 8 && text.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 } ? text : ""
        requestID = json?["requestId"]?.string ?? ""
        // JSON in a text: {"success":0,"failure":1,"illegal_tokens":["..."]}
        let part = code == Self.partlySent ? host.object(in: json?["msg"]) : nil
        counts = (part?["success"]?.integer ?? 0, part?["failure"]?.integer ?? 0)
    }

    /// Whether Huawei has taken the message for its token.
    var isAccepted: Bool {
        code == Self.success || (code == Self.partlySent && counts.success > 0)
    }

    /// The outcome for this answer.
    ///
    /// `isProven`: a push was accepted before, so the client's ids are right and a refused token is the token's
    /// fault.
    func outcome(isProven: Bool, retryAfterMs: UInt64?) -> Outcome {
        var outcome = classified(isProven: isProven, retryAfterMs: retryAfterMs)
        outcome.providerCode = UInt32(clamping: status)
        return outcome
    }

    private func classified(isProven: Bool, retryAfterMs: UInt64?) -> Outcome {
        if isAccepted {
            return Outcome(.delivered, "ok", providerID: requestID)
        }
        switch code {
        case Self.deadToken: return refusedToken(isProven)
        // A message has one token: if a token is illegal, it is this one.
        case Self.partlySent where counts.failure > 0 && !isV3: return refusedToken(isProven)
        case Self.partlySent where isV3:
            // Also for missing rights and countries, so the token is kept.
            return Outcome(
                .config, code,
                detail: "Huawei refuses the token, or this kind of message for the project")
        case Self.noPermission:
            // It also comes for a token of another app, which is no reason to keep the others waiting.
            return Outcome(
                .config, code,
                detail: isProven
                    ? "the token belongs to another app"
                    : "Push Kit is off for the app, or client_id or project_id is wrong",
                scope: isProven ? .item : .instance)
        default: break
        }
        if let meaning = Self.meanings[code] {
            var outcome = Outcome(meaning.kind, code)
            outcome.detail = meaning.detail
            if meaning.kind == .auth { outcome.credential = HMS.accessToken }
            if meaning.waitMs > 0 { outcome.retryAfterMs = max(meaning.waitMs, retryAfterMs ?? 0) }
            return outcome
        }
        // Groups and topics, which only an override can name.
        if code.hasPrefix("820000") { return Outcome(.rejected, "topic_or_group") }
        return byStatus(retryAfterMs: retryAfterMs)
    }

    /// A dead token, unless the client's ids may be wrong: then every token would be refused like this.
    private func refusedToken(_ isProven: Bool) -> Outcome {
        if isProven { return Outcome(.unregistered, code) }
        return Outcome(
            .retry, code,
            detail:
                "no push was accepted yet, so client_id or project_id may be wrong; the token is kept",
            retryAfterMs: 60_000)
    }

    /// Answers without a known code.
    private func byStatus(retryAfterMs: UInt64?) -> Outcome {
        switch status {
        case 401:
            return Outcome(.auth, "unauthenticated", credential: HMS.accessToken)
        case 403, 404:
            return Outcome(
                .config, status == 403 ? "permission_denied" : "wrong_path",
                detail: "client_id, project_id or endpoint is wrong", scope: .instance)
        case 429, 503:
            // Flow control limits the client, not a device.
            return Outcome(
                .throttled, "flow_control", scope: .instance, retryAfterMs: retryAfterMs ?? 10_000)
        case 500...599:
            return Outcome(.retry, "server_error", retryAfterMs: max(10_000, retryAfterMs ?? 0))
        case 200 where code.isEmpty: return Outcome(.retry, "no_code")
        case 200:
            return Outcome(.rejected, "unknown_code", detail: "Huawei answered \(code)")
        default: return Outcome(unknownStatus: status)
        }
    }
}
