import SignalboxPluginKit

/// Gets an access token for a service account: sends a signed assertion, receives a bearer token
/// (RFC 7523).
enum OAuth {
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

    static func token(
        _ account: ServiceAccount, caFile: String, host: Host
    ) throws(PluginError) -> Credential {
        try host.accessToken(
            from: account.tokenURI,
            form: "grant_type=\(grant)&assertion=\(try assertion(account, host))", caFile: caFile)
    }

    static func assertion(_ account: ServiceAccount, _ host: Host) throws(PluginError) -> String {
        let now = host.nowUnixMs / 1000
        do throws(PluginError) {
            return try host.webToken(
                .rs256, key: ServiceAccount.secret, pointer: "/private_key", keyID: account.keyID
            ) { out in
                out.member("iss", account.clientEmail)
                out.member("scope", scope)
                out.member("aud", account.tokenURI)
                out.member("iat", now)
                out.member("exp", now + 3600)
            }
        } catch {
            throw PluginError(.invalid, "the service account's key does not sign: \(error.message)")
        }
    }
}
