import SignalboxPluginKit

/// Apple's reasons and what to do about each: the table of "Handling notification responses from
/// APNs".
enum Reasons {
    /// So many 5xx in a row are an outage.
    static let streakMin = 20

    /// 400 and 403 answers that say more than their status.
    private static let known: [String: (kind: Outcome.Kind, scope: Outcome.Scope)] = [
        "DeviceTokenNotForTopic": (.config, .item),
        "TopicDisallowed": (.config, .app),
        "BadTopic": (.config, .app),
        "MissingTopic": (.config, .app),
        "BadCollapseId": (.rejected, .item),
        "BadExpirationDate": (.rejected, .item),
        "BadMessageId": (.rejected, .item),
        "BadPriority": (.rejected, .item),
        "InvalidPushType": (.rejected, .item),
        "DuplicateHeaders": (.rejected, .item),
        "MissingDeviceToken": (.rejected, .item),
        "PayloadEmpty": (.rejected, .item),
        "PayloadTooLarge": (.rejected, .item),
        "BadPath": (.rejected, .item),
        "MethodNotAllowed": (.rejected, .item),
        "InvalidProviderToken": (.config, .instance),
        "MissingProviderToken": (.config, .instance),
        "UnrelatedKeyIdInToken": (.config, .instance),
        // The documentation's spelling, and the one that was observed.
        "BadEnvironmentKeyIdInToken": (.config, .instance),
        "BadEnvironmentKeyInToken": (.config, .instance),
        "BadCertificate": (.config, .instance),
        "BadCertificateEnvironment": (.config, .instance),
        "Forbidden": (.config, .instance),
    ]

    /// What an answer other than 200 means.
    ///
    /// `isProven`: a push of this app was taken before, so a bad token is the token's fault and a refused
    /// topic that of its push type; `failuresInRow`: 5xx without any other answer between them.
    static func outcome(
        status: Int, reason: String, timestampMs: Int64?, credential: String,
        isProven: Bool, failuresInRow: Int
    ) -> Outcome {
        var outcome = classified(
            status: status, reason: reason, credential: credential, isProven: isProven)
        if (500...599).contains(status), reason != "Shutdown", failuresInRow >= streakMin {
            // Apple's advice for an outage; one answer among good ones is none.
            outcome.retryAfterMs = 15 * 60_000
        }
        outcome.providerCode = UInt32(clamping: status)
        if status == 410 {
            // When Apple learned that the token was dead, in milliseconds.
            outcome.goneSinceUnixMs = UInt64(clamping: timestampMs ?? 0)
        }
        return outcome
    }

    private static func classified(
        status: Int, reason: String, credential: String, isProven: Bool
    ) -> Outcome {
        switch reason {
        case "BadDeviceToken":
            if isProven { return Outcome(.unregistered, reason) }
            var outcome = Outcome(.rejected, reason)
            outcome.detail =
                "no push of this app was taken yet, so the environment may be the wrong one; "
                + "the token is kept"
            return outcome
        case "Unregistered", "ExpiredToken": return Outcome(.unregistered, reason)
        case "ExpiredProviderToken":
            var outcome = Outcome(.auth, reason)
            outcome.credential = credential
            // Later requests on this connection would keep failing.
            outcome.reconnect = true
            return outcome
        case "IdleTimeout", "TooManyProviderTokenUpdates", "Shutdown":
            var outcome = Outcome(.retry, reason)
            outcome.reconnect = true
            return outcome
        case "TooManyRequests": return Outcome(.throttled, reason)
        default:
            if let (kind, scope) = known[reason] {
                var outcome = Outcome(kind, reason)
                // Where pushes of the app were taken, this one's push type has a topic that is not.
                outcome.scope = scope == .app && isProven ? .item : scope
                return outcome
            }
            return unknown(status: status, reason: reason, isProven: isProven)
        }
    }

    /// A reason that is not in the table: its status says what to do.
    private static func unknown(status: Int, reason: String, isProven: Bool) -> Outcome {
        switch status {
        case 410: return Outcome(.unregistered, "gone")
        case 429: return Outcome(.throttled, "too_many_requests")
        case 403:
            var outcome = Outcome(.config, "forbidden")
            outcome.scope = isProven ? .item : .instance
            outcome.detail = detail(reason)
            return outcome
        case 500...599:
            let label =
                reason == "InternalServerError" || reason == "ServiceUnavailable"
                ? reason : "server_error"
            var outcome = Outcome(.retry, label)
            outcome.reconnect = status == 503
            return outcome
        default:
            var outcome = Outcome(.rejected, "http_\(status / 100)xx")
            outcome.detail = detail(reason)
            return outcome
        }
    }

    /// Apple's reasons are words of letters; anything else may repeat what must not be kept, such as a token.
    private static func detail(_ reason: String) -> String {
        guard !reason.isEmpty else { return "the answer gives no reason" }
        return reason.utf8.count <= 64 && reason.allSatisfy { $0.isASCII && $0.isLetter }
            ? "reason: \(reason)" : "the answer's reason is not one of Apple's words"
    }

    /// What is decided without asking Apple.
    static func local(_ fault: RenderFault) -> Outcome {
        switch fault {
        case .malformedToken: Outcome(.rejected, "malformed_token")
        case .unknownPushType: Outcome(.rejected, "unknown_push_type")
        case .reservedKey: Outcome(.rejected, "reserved_data_key")
        case .malformedData: Outcome(.rejected, "malformed_data")
        case .tooLarge: Outcome(.rejected, "PayloadTooLarge")
        case .locationNeedsToken: Outcome(.config, "location_needs_token_auth")
        case .topicNotInCertificate: Outcome(.config, "topic_not_in_certificate")
        }
    }
}
