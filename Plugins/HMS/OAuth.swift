import SignalboxPluginKit

/// Gets an access token for a client's id and secret (RFC 6749, client credentials).
enum OAuth {
    static func token(_ config: Config, host: Host) throws(PluginError) -> Credential {
        // Read each time, so that a changed secret file counts at the next refresh.
        let secret = try host.secretText(Config.clientSecret).trimmingNewlines
        var call = HTTPCall("POST", config.tokenURL)
        call.headers = [("content-type", "application/x-www-form-urlencoded")]
        call.body = Array(
            ("grant_type=client_credentials&client_id=\(PathSegment.encode(config.clientID))"
                + "&client_secret=\(PathSegment.encode(secret))").utf8)
        call.caFile = config.caFile
        let asked = host.nowUnixMs
        return try read(try host.call(call), askedUnixMs: asked, host: host)
    }

    private static func read(
        _ answer: HTTPAnswer, askedUnixMs: UInt64, host: Host
    ) throws(PluginError) -> Credential {
        let json = try? host.parse(answer.body.span)
        guard answer.status == 200 else {
            // Numbers alone: the description may repeat what was sent.
            let numbers = ["error", "sub_error"].compactMap { json?[$0]?.scalarText?.prefix(32) }
            let code = numbers.isEmpty ? "no reason given" : numbers.joined(separator: "/")
            let words = "the token endpoint answered \(answer.status): \(code)"
            // A refused client stays refused until somebody changes it; everything else may pass.
            let isFinal = [400, 401, 403].contains(answer.status)
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

extension String {
    /// Without the line end that an editor leaves in a secret's file.
    fileprivate var trimmingNewlines: String {
        var text = self
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }
}
