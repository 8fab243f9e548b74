import SignalboxPluginKit

/// An answer of FCM, decoded from `error.details[]`: the top-level status is less precise, and misleads for
/// dead tokens.
struct Answer {
    /// The context of requests to topics and conditions.
    static let group = "group"

    let status: Int
    private let messageName: String
    /// `errorCode` of the FcmError detail.
    private let code: String
    /// Fields that a BadRequest detail names.
    private let badFields: [String]
    /// What FCM says, for people.
    private let words: String
    /// The text of a QuotaFailure detail.
    private let quota: String

    init(status: Int, json: JSON?) {
        self.status = status
        messageName = json?["name"]?.string ?? ""
        var code = ""
        var badFields: [String] = []
        var quota = ""
        for detail in json?.at("/error/details")?.elements ?? [] {
            let type = detail["@type"]?.string ?? ""
            if type.hasSuffix("google.firebase.fcm.v1.FcmError") {
                code = detail["errorCode"]?.string ?? ""
            } else if type.hasSuffix("google.rpc.BadRequest") {
                let violations = detail["fieldViolations"]?.elements ?? []
                badFields += violations.compactMap { $0["field"]?.string }
            } else if type.hasSuffix("google.rpc.QuotaFailure") {
                for violation in detail["violations"]?.elements ?? [] {
                    quota += violation["subject"]?.string ?? ""
                    quota += violation["description"]?.string ?? ""
                }
            }
        }
        self.code = code
        self.badFields = badFields
        words = json?.at("/error/message")?.string ?? ""
        self.quota = quota.lowercased()
    }

    /// The answer to an accepted message.
    init(name: String) {
        status = 200
        messageName = name
        code = ""
        badFields = []
        words = ""
        quota = ""
    }

    /// Fast path: the name in `{"name": "projects/.../messages/..."}`, the form of nearly all answers, read without a
    /// parser; nil if the body has another form.
    static func soleName(in body: Span<UInt8>) -> String? {
        // Strings and the punctuation between them, without spaces: { "name" : "..." }
        let marks = (UInt8(ascii: "{"), UInt8(ascii: ":"), UInt8(ascii: "}"))
        var (key, value): (Range<Int>?, Range<Int>?) = (nil, nil)
        var start: Int?
        var wanted: UInt8? = marks.0
        for index in body.indices {
            let byte = body[index]
            if let open = start {
                guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\\") else { return nil }
                guard byte == UInt8(ascii: "\"") else { continue }
                if key == nil {
                    key = open..<index
                    wanted = marks.1
                } else {
                    value = open..<index
                    wanted = marks.2
                }
                start = nil
                continue
            }
            switch byte {
            case UInt8(ascii: " "), 0x09, 0x0A, 0x0D: continue
            case UInt8(ascii: "\""):
                guard wanted == nil, value == nil else { return nil }
                start = index + 1
            default:
                guard byte == wanted else { return nil }
                wanted = nil
            }
        }
        guard start == nil, wanted == nil, let key, let value else { return nil }
        func text(_ range: Range<Int>) -> String {
            // It is ASCII, so this gives a text.
            guard let text = try? UTF8Span(validating: body.extracting(range)) else { return "" }
            return String(copying: text)
        }
        return text(key) == "name" ? text(value) : nil
    }

    /// The outcome for this answer.
    func outcome(retryAfterMs: UInt64?) -> Outcome {
        var outcome = classified(retryAfterMs: retryAfterMs)
        outcome.providerCode = UInt32(clamping: status)
        return outcome
    }

    private func classified(retryAfterMs: UInt64?) -> Outcome {
        if status == 200 {
            return Outcome(.delivered, "ok", providerID: messageName)
        }
        switch code {
        case "UNREGISTERED": return Outcome(.unregistered, code)
        case "INVALID_ARGUMENT": return refused
        case "SENDER_ID_MISMATCH":
            return Outcome(.config, code, detail: "the token belongs to another Firebase project")
        case "THIRD_PARTY_AUTH_ERROR", "APNS_AUTH_ERROR":
            // Concerns only tokens on Apple devices or in browsers; the project's others are fine.
            return Outcome(
                .config, "THIRD_PARTY_AUTH_ERROR",
                detail: "the project's APNs key or web push key is missing or wrong")
        case "QUOTA_EXCEEDED": return throttled(code, retryAfterMs)
        case "INTERNAL", "UNSPECIFIED_ERROR":
            return later(.retry, code, max(10_000, retryAfterMs ?? 0))
        case "UNAVAILABLE": return later(.retry, code, max(10_000, retryAfterMs ?? 0))
        default: return byStatus(retryAfterMs: retryAfterMs)
        }
    }

    /// FCM refuses the message. For faults of a message, too, it answers so without a detail, or blames the token: only the host
    /// knows whether the token was accepted before.
    private var refused: Outcome {
        var outcome = Outcome(.rejected, "INVALID_ARGUMENT")
        outcome.suspectsToken =
            badFields.contains("message.token")
            || words.hasPrefix("The registration token is not a valid FCM registration token")
        var detail = "FCM: \(Self.quotable(words.isEmpty ? "no reason given" : words))"
        if !badFields.isEmpty {
            detail += " (\(Self.quotable(badFields.prefix(3).joined(separator: ", "))))"
        }
        outcome.detail = detail
        return outcome
    }

    /// FCM's words without what they quote of a message: texts in quotes, values behind a type, and tokens.
    private static func quotable(_ text: String) -> String {
        var out: [Substring] = []
        let plain = text.prefix(400).split(separator: "\"", omittingEmptySubsequences: false)
            .enumerated().map { $0.offset % 2 == 0 ? $0.element : "…" }.joined()
        for word in plain.split(whereSeparator: { $0.isWhitespace }) {
            out.append(word.utf8.count > 48 ? "…" : word)
            // "Invalid value at 'message.data[0].value' (TYPE_STRING), 12"
            if word.hasSuffix("),") { break }
        }
        return out.joined(separator: " ")
    }

    /// Answers without an FcmError detail.
    private func byStatus(retryAfterMs: UInt64?) -> Outcome {
        switch status {
        case 400: return refused
        case 401:
            return Outcome(.auth, "unauthenticated", credential: FCM.accessToken)
        case 403, 404:
            return Outcome(
                .config, status == 403 ? "permission_denied" : "wrong_project",
                detail: status == 403
                    ? "the service account may not send, or the API is off for this project"
                    : "the project does not exist", scope: .instance)
        case 429: return throttled("too_many_requests", retryAfterMs)
        case 500...599: return later(.retry, "server_error", max(10_000, retryAfterMs ?? 0))
        default: return Outcome(unknownStatus: status)
        }
    }

    /// The quota of the whole project, unless the answer names a device's or a topic's.
    private func throttled(_ reason: String, _ retryAfterMs: UInt64?) -> Outcome {
        var outcome = later(.throttled, reason, retryAfterMs ?? 60_000)
        let isOfOne = quota.contains("device") || quota.contains("topic")
        outcome.scope = isOfOne ? .item : .app
        return outcome
    }

    private func later(_ kind: Outcome.Kind, _ reason: String, _ waitMs: UInt64) -> Outcome {
        Outcome(kind, reason, retryAfterMs: waitMs)
    }
}
