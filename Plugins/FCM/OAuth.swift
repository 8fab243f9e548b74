import SignalboxPluginKit

/// Gets an access token for a service account: sends a signed assertion, receives a bearer token
/// (RFC 7523).
enum OAuth {
    private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
    private static let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"

    static func token(
        _ account: ServiceAccount, caFile: String, host: Host
    ) throws(PluginError) -> Credential {
        var call = HTTPCall("POST", account.tokenURI)
        call.headers = [("content-type", "application/x-www-form-urlencoded")]
        call.body = Array("grant_type=\(grant)&assertion=\(try assertion(account, host))".utf8)
        call.caFile = caFile
        let asked = host.nowUnixMs
        let answer = try host.call(call)
        return try read(answer, askedUnixMs: asked, host: host)
    }

    static func assertion(_ account: ServiceAccount, _ host: Host) throws(PluginError) -> String {
        let now = host.nowUnixMs / 1000
        var header = JSONWriter()
        header.object { out in
            out.member("alg", "RS256")
            out.member("typ", "JWT")
            out.member("kid", account.keyID)
        }
        var claims = JSONWriter()
        claims.object { out in
            out.member("iss", account.clientEmail)
            out.member("scope", scope)
            out.member("aud", account.tokenURI)
            out.key("iat")
            out.integer(now)
            out.key("exp")
            out.integer(now + 3600)
        }
        let text = Base64URL.encode(header.bytes) + "." + Base64URL.encode(claims.bytes)
        do throws(PluginError) {
            let signature = try host.sign(
                .rs256, key: ServiceAccount.secret, pointer: "/private_key", data: Array(text.utf8))
            return text + "." + Base64URL.encode(signature)
        } catch {
            throw PluginError(.invalid, "the service account's key does not sign: \(error.message)")
        }
    }

    private static func read(
        _ answer: HTTPAnswer, askedUnixMs: UInt64, host: Host
    ) throws(PluginError) -> Credential {
        let json = try? host.parse(answer.body.span)
        guard answer.status == 200 else {
            let code = String((json?["error"]?.string ?? "no reason given").prefix(64))
            let words = "the token endpoint answered \(answer.status): \(code)"
            // invalid_grant and similar errors are permanent; all others may pass.
            let isFinal = answer.status == 400 || answer.status == 401 || answer.status == 403
            throw PluginError(isFinal ? .auth : .unreachable, words)
        }
        guard let token = json?["access_token"]?.string, !token.isEmpty,
            let seconds = json?["expires_in"]?.integer, seconds > 0
        else {
            throw PluginError(
                .unreachable, "the token endpoint's answer has no access_token or expires_in")
        }
        // No endpoint's word is good for longer than a day.
        let life = UInt64(min(seconds, 86_400)) * 1000
        // Refresh five minutes before expiry, or halfway for short lifetimes.
        let ahead = min(5 * 60_000, life / 2)
        return Credential(
            value: token, refreshUnixMs: askedUnixMs + life - ahead,
            expiresUnixMs: askedUnixMs + life)
    }
}
