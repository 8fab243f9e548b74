import SignalboxPluginKit

/// Why a whole request is rejected, in gorush's words.
enum Fault {
    case credentials
    case missing
    case empty
    case tooMany(Int, limit: Int)

    var error: PluginError {
        switch self {
        case .credentials: PluginError(.auth, message)
        default: PluginError(.invalid, message)
        }
    }

    var status: Int {
        switch self {
        case .credentials: 401
        default: 400
        }
    }

    var message: String {
        switch self {
        case .credentials: "The configured credentials are missing or wrong."
        case .missing: "Missing notifications field."
        case .empty: "Notifications field is empty."
        case .tooMany(let count, let limit):
            "Number of notifications(\(count)) over limit(\(limit))"
        }
    }
}

/// Why one notification of a request, or one of its tokens, is rejected; the others are not affected.
struct Reject: Error {
    /// A metric label.
    enum Reason: String {
        case notAnObject = "not_an_object"
        case wrongType = "wrong_type"
        case unknownPlatform = "unknown_platform"
        case topic = "topic_unsupported"
        case noTokens = "no_tokens"
        case tooManyTokens = "too_many_tokens"
        case badToken = "bad_token"
        /// No sender could make a push of it.
        case unsendable
        case duplicate
    }

    let reason: Reason
    /// For people: names the field and what it must be.
    let detail: String

    init(_ reason: Reason, _ detail: String) {
        self.reason = reason
        self.detail = detail
    }
}
