import SignalboxPluginKit

/// Errors that are answered 400.
enum Fault {
    case notAnObject(path: String)
    case missing(path: String)
    case wrong(path: String, what: String)
    case unknownOrg, unknownApp(path: String)
    case twoTokens(path: String)
    case batch, callbackURL, callbackHeaders(String)
    case apiToken
    case userID(path: String)

    var error: PluginError { PluginError(.invalid, words) }

    private var words: String {
        switch self {
        case .notAnObject(let path): "\(path.isEmpty ? "the body" : path) must be a JSON object"
        case .missing(let path): "\(path) is required"
        case .wrong(let path, let what): "\(path): \(what)"
        case .unknownOrg: "this organization is not served here"
        case .unknownApp(let path): "\(path) is not one of the configured apps"
        case .twoTokens(let path): "\(path)give exactly one of ApnsDeviceToken and FcmDeviceToken"
        case .batch: "the body must be a list of 1 to 100 objects"
        case .callbackURL: "x-ms-callback-url must be an absolute https URL without a user name"
        case .callbackHeaders(let what): "x-ms-callback-url-headers: \(what)"
        case .apiToken: "ApiToken is not that of the app"
        case .userID(let path):
            "\(path)UserId has control characters or is over 256 bytes"
        }
    }
}

/// Why a registration failed, in the documented terms.
enum FailureReason: String, CaseIterable {
    case duplicateExists = "DuplicateExists"
    case dryRunSendingFailed = "DryRunSendingFailed"
    case deviceTokenTooLong = "DeviceTokenTooLong"
    case failedToStoreDevice = "FailedToStoreDevice"
    case apiTokenNotValid = "ApiTokenNotValid"

    /// Documented values have spaces around them, and their case is not guaranteed.
    init?(lenient text: String) {
        let plain = text.filter { $0 != " " }.lowercased()
        guard let found = Self.allCases.first(where: { $0.rawValue.lowercased() == plain }) else {
            return nil
        }
        self = found
    }
}

/// The outcome of a change for an answer of Customer Insights.
enum Answer {
    static func outcome(_ status: Int, retryAfterMs: UInt64?) -> Outcome {
        var outcome = Outcome(
            reportStatus: status, accepted: "accepted", refusal: "", retryAfterMs: retryAfterMs)
        if outcome.reason.hasPrefix("http_") {
            outcome.detail = "check org, mobile_app_id and api_token of config.client"
        }
        return outcome
    }

    /// The outcome for a polled status or a callback.
    static func outcome(status: String, reason: String) -> Outcome? {
        switch status.filter({ $0 != " " }).lowercased() {
        case "pending": return nil
        case "success": return Outcome(.delivered, "registered")
        default: break
        }
        switch FailureReason(lenient: reason) {
        case .duplicateExists: return Outcome(.delivered, "DuplicateExists")
        case .dryRunSendingFailed: return Outcome(.unregistered, "DryRunSendingFailed")
        case .deviceTokenTooLong: return Outcome(.rejected, "DeviceTokenTooLong")
        case .failedToStoreDevice: return Outcome(.retry, "FailedToStoreDevice")
        case .apiTokenNotValid:
            return Outcome(.config, "ApiTokenNotValid", scope: .app)
        case nil:
            return Outcome(.rejected, "other_failure", detail: String(reason.prefix(128)))
        }
    }
}
