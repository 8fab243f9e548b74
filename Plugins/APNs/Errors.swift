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
            return Outcome(
                .rejected, reason,
                detail:
                    "no push of this app was taken yet, so the environment may be the wrong one; "
                    + "the \(reason == "BadDeviceToken" ? "token" : "channel") is kept")
        case "Unregistered", "ExpiredToken": return Outcome(.unregistered, reason)
        case "ExpiredProviderToken":
            // Later requests on this connection would fail, too.
            return Outcome(.auth, reason, reconnect: true, credential: credential)
        case "IdleTimeout", "TooManyProviderTokenUpdates", "Shutdown":
            return Outcome(.retry, reason, reconnect: true)
        case "TooManyRequests": return Outcome(.throttled, reason)
        default:
            if let (kind, scope) = known[reason] {
                // If pushes of the app were accepted before, only the topic of this push type is refused.
                return Outcome(kind, reason, scope: scope == .app && isProven ? .item : scope)
            }
            return unknown(status: status, reason: reason, isProven: isProven)
        }
    }

    /// An unknown reason: the status decides.
    private static func unknown(status: Int, reason: String, isProven: Bool) -> Outcome {
        switch status {
        case 410:
            // Apple says why. Whoever else answers must not empty the registry.
            return Outcome(.rejected, "gone", detail: detail(reason) + "; the token is kept")
        case 429: return Outcome(.throttled, "too_many_requests")
        // Apple uses 403 alone; the others are a proxy's, and no delivery's fault either.
        case 401, 403, 407:
            return Outcome(
                .config, status == 403 ? "forbidden" : "unauthorized", detail: detail(reason),
                scope: isProven ? .item : .instance)
        case 500...599:
            let label =
                reason == "InternalServerError" || reason == "ServiceUnavailable"
                ? reason : "server_error"
            return Outcome(.retry, label)
        default:
            // Apple answers with nothing but 200, 4xx and 5xx: anything else is a peer in between.
            let kind: Outcome.Kind = (400...499).contains(status) ? .rejected : .retry
            return Outcome(kind, "http_\(status / 100)xx", detail: detail(reason))
        }
    }

    /// Apple's reasons consist of letters; other text may repeat sensitive data, such as a token.
    private static func detail(_ reason: String) -> String {
        guard !reason.isEmpty else { return "the answer gives no reason" }
        return reason.utf8.count <= 64 && reason.allSatisfy { $0.isASCII && $0.isLetter }
            ? "reason: \(reason)" : "the answer's reason is not one that Apple documents"
    }
}

/// Decided without asking Apple.
extension Outcome {
    static let unknownPushType = Outcome(.rejected, "unknown_push_type")
    static let payloadTooLarge = Outcome(.rejected, "PayloadTooLarge")
    static let typeNeedsToken = Outcome(.config, "push_type_needs_token_auth")
    static let topicNotInCertificate = Outcome(.config, "topic_not_in_certificate")
    static let channelNeedsLiveActivity = Outcome(
        .rejected, "channel_needs_liveactivity",
        detail: "a channel takes the push type liveactivity alone")
    /// A push of this type cannot be without effect on the user, as a withdrawal and a dry run must be.
    static let notUnseen = Outcome(
        .rejected, "push_type_shows",
        detail: "a withdrawal or dry run with this push type would be noticed")

    /// The device would ignore it; the text says why.
    static func malformedLiveActivity(_ fault: String) -> Outcome {
        Outcome(.rejected, "malformed_live_activity", detail: fault)
    }

    static func missingMember(_ name: String) -> Outcome {
        Outcome(
            .rejected, "missing_member",
            detail: "the push type needs \(name), a text, in the data")
    }
}
