internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
package import SignalboxHTTP
internal import SignalboxJSON

/// Who calls the device registry's API, and what the caller may do.
package struct DeviceCaller: Sendable {
    /// The name of the client or the group of users in gateway.yaml.
    var name: String
    var app: String
    var scopes: Set<String>
    /// The only user whose devices the caller may change; nil for any user.
    var user: String?
    /// Whether a registration removes the user's other devices.
    var hasOneDevice = false
}

extension DevicesService {
    /// Why the API is unavailable.
    package enum Stranger: Error {
        case unknown(String)
        case unavailable(String)
        case tooMany(seconds: Int)
    }

    /// The caller: a client of gateway.yaml, a user with a token, or a user with an authorization code.
    package func caller(of request: HTTPServerRequest) async throws(Stranger) -> DeviceCaller {
        let field = request.header("authorization") ?? ""
        do throws(UserAuthenticator.Failure) {
            if field.lowercased().hasPrefix("bearer ") {
                let given = field.dropFirst(7)
                if let client = client(bearer: given) {
                    return DeviceCaller(
                        name: client.name, app: client.app, scopes: client.scopes)
                }
                guard !access.users.isEmpty else {
                    throw UserAuthenticator.Failure.refused("the token is not known")
                }
                return caller(try await access.users.user(token: given))
            }
            if !access.users.isEmpty, request.method == "POST",
                let body = try? JSONValue.parse(request.body), let code = body["code"]?.string,
                body["token"]?.string?.isEmpty == false, body["platform"]?.string != nil
            {
                return caller(
                    try await access.users.user(
                        code: code, verifier: body["code_verifier"]?.string ?? "",
                        redirectURI: body["redirect_uri"]?.string ?? "",
                        clientID: body["client_id"]?.string ?? "", from: request.remote))
            }
        } catch {
            switch error {
            case .refused(let words): throw .unknown(words)
            case .unavailable(let words): throw .unavailable(words)
            case .tooMany(let seconds): throw .tooMany(seconds: seconds)
            }
        }
        throw .unknown("send a bearer token of gateway.yaml's devices.clients")
    }

    private func caller(_ identity: UserAuthenticator.Identity) -> DeviceCaller {
        DeviceCaller(
            name: names.name(identity.user).map { "user \($0)" } ?? "user", app: identity.app,
            scopes: ["read", "write", "presence", "badge", "opens"],
            user: identity.user, hasOneDevice: identity.hasOneDevice)
    }

    /// The client with this token; compares all in constant time.
    private func client(bearer: Substring) -> DeviceClient? {
        let given = Digest.sha256(Array(bearer.utf8))
        var found: DeviceClient?
        for client in access.clients
        where HMACDigest.isEqual(given, Digest.sha256(Array(client.token.utf8))) {
            found = client
        }
        return found
    }
}
