import SignalboxPluginKit

/// Why a push from the proxy is rejected.
enum Fault {
    case credentials
    case notAnObject
    case wrong(path: String, what: String)
    case otherBrand

    var error: PluginError {
        switch self {
        case .credentials: PluginError(.auth, "the configured credentials are missing or wrong")
        case .notAnObject: PluginError(.invalid, "the body must be a JSON object")
        case .wrong(let path, let what): PluginError(.invalid, "\(path): \(what)")
        case .otherBrand: PluginError(.invalid, "brandId is not the one of config.brand_id")
        }
    }
}

/// Why a token gets no push; the proxy gets a 403.
enum Refusal: String {
    case unknownToken = "unknown_token"
    case loggedOut = "logged_out"

    var detail: String {
        switch self {
        case .unknownToken: "the token is not in the registry"
        case .loggedOut: "the user logged out of conversations with agents"
        }
    }
}
