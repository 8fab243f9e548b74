import SignalboxPluginKit

/// Maps Apple's reasons to outcomes: the table of "Handling notification responses from
/// APNs".
enum Reasons {
    /// This many consecutive 5xx are an outage.
    static let streakMin = 20

    /// Reasons of 400 and 403 answers with a meaning of their own.
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
        "MissingPushType": (.rejected, .item),
        "MissingChannelId": (.rejected, .item),
        "BadChannelId": (.rejected, .item),
        "BadRequestParams": (.rejected, .item),
        "BadRequestPayload": (.rejected, .item),
        "CannotCreateChannelConfig": (.rejected, .item),
        // The app may not broadcast; its other pushes are not affected.
        "FeatureNotEnabled": (.config, .item),
        "TopicMismatch": (.config, .app),
        "MissingDeviceToken": (.rejected, .item),
        "PayloadEmpty": (.rejected, .item),
        "PayloadTooLarge": (.rejected, .item),
        "BadPath": (.rejected, .item),
        "MethodNotAllowed": (.rejected, .item),
        "InvalidProviderToken": (.config, .instance),
        "MissingProviderToken": (.config, .instance),
        "UnrelatedKeyIdInToken": (.config, .instance),
        // The documented spelling, and the observed one.
        "BadEnvironmentKeyIdInToken": (.config, .instance),
        "BadEnvironmentKeyInToken": (.config, .instance),
        "BadCertificate": (.config, .instance),
        "BadCertificateEnvironment": (.config, .instance),
        "Forbidden": (.config, .instance),
    ]

    /// The outcome for an answer other than 200.
    ///
    /// `isProven`: a push of this app was accepted before, so a bad token is the token's fault and a refused
    /// topic that of its push type. `failuresInRow`: consecutive 5xx without another answer in between.
    static func outcome(
        status: Int, reason: String, timestampMs: Int64?, credential: String,
        isProven: Bool, failuresInRow: Int
    ) -> Outcome {
        var outcome = classified(
            status: status, reason: reason, credential: credential, isProven: isProven)
        if (500...599).contains(status), reason != "Shutdown", failuresInRow >= streakMin {
            // Apple's advice for an outage; a single 5xx is not one.
            outcome.retryAfterMs = 15 * 60_000
        }
        outcome.providerCode = UInt32(clamping: status)
        if status == 410 {
            // When Apple learned that the token was dead, in Unix milliseconds.
            outcome.goneSinceUnixMs = UInt64(clamping: timestampMs ?? 0)
        }
        return outcome
    }

    private static func classified(
        status: Int, reason: String, credential: String, isProven: Bool
    ) -> Outcome {
        switch reason {
        case "BadDeviceToken", "ChannelNotRegistered":
            if isProven { return Outcome(.unregistered, reason) }
            var outcome = Outcome(.rejected, reason)
            outcome.detail =
                "no push of this app was taken yet, so the environment may be the wrong one; "
                + "the \(reason == "BadDeviceToken" ? "token" : "channel") is kept"
            return outcome
        case "Unregistered", "ExpiredToken": return Outcome(.unregistered, reason)
        case "ExpiredProviderToken":
            var outcome = Outcome(.auth, reason)
            outcome.credential = credential
            // Later requests on this connection would fail, too.
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
                // If pushes of the app were accepted before, only the topic of this push type is refused.
                outcome.scope = scope == .app && isProven ? .item : scope
                return outcome
            }
            return unknown(status: status, reason: reason, isProven: isProven)
        }
    }

    /// An unknown reason: the status decides.
    private static func unknown(status: Int, reason: String, isProven: Bool) -> Outcome {
        switch status {
        case 410:
            // Apple says why. Whoever else answers must not empty the registry.
            var outcome = Outcome(.rejected, "gone")
            outcome.detail = detail(reason) + "; the token is kept"
            return outcome
        case 429: return Outcome(.throttled, "too_many_requests")
        // Apple uses 403 alone; the others are a proxy's, and no delivery's fault either.
        case 401, 403, 407:
            var outcome = Outcome(.config, status == 403 ? "forbidden" : "unauthorized")
            outcome.scope = isProven ? .item : .instance
            outcome.detail = detail(reason)
            return outcome
        case 500...599:
            let label =
                reason == "InternalServerError" || reason == "ServiceUnavailable"
                ? reason : "server_error"
            return Outcome(.retry, label)
        default:
            // Apple answers with nothing but 200, 4xx and 5xx: anything else is a peer in between.
            let kind: Outcome.Kind = (400...499).contains(status) ? .rejected : .retry
            var outcome = Outcome(kind, "http_\(status / 100)xx")
            outcome.detail = detail(reason)
            return outcome
        }
    }

    /// Apple's reasons consist of letters; other text may repeat sensitive data, such as a token.
    private static func detail(_ reason: String) -> String {
        guard !reason.isEmpty else { return "the answer gives no reason" }
        return reason.utf8.count <= 64 && reason.allSatisfy { $0.isASCII && $0.isLetter }
            ? "reason: \(reason)" : "the answer's reason is not one that Apple documents"
    }

    /// Outcomes that are decided without asking Apple.
    static func local(_ fault: RenderFault) -> Outcome {
        switch fault {
        case .malformedToken: Outcome(.rejected, "malformed_token")
        case .unknownPushType: Outcome(.rejected, "unknown_push_type")
        case .reservedKey: Outcome(.rejected, "reserved_data_key")
        case .malformedData: Outcome(.rejected, "malformed_data")
        case .tooLarge: Outcome(.rejected, "PayloadTooLarge")
        case .typeNeedsToken: Outcome(.config, "push_type_needs_token_auth")
        case .topicNotInCertificate: Outcome(.config, "topic_not_in_certificate")
        case .channelNeedsLiveActivity:
            rejected(
                "channel_needs_liveactivity", "a channel takes the push type liveactivity alone")
        case .notUnseen:
            rejected(
                "push_type_shows", "a withdrawal or dry run with this push type would be noticed")
        case .malformedLiveActivity(let fault): rejected("malformed_live_activity", fault)
        case .missingMember(let name):
            rejected("missing_member", "the push type needs \(name), a text, in the data")
        }
    }

    private static func rejected(_ reason: String, _ detail: String) -> Outcome {
        var outcome = Outcome(.rejected, reason)
        outcome.detail = detail
        return outcome
    }
}
