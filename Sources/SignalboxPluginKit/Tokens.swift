extension Host {
    /// A secret without the line end that an editor leaves in its file.
    public func secretLine(_ name: String) throws(PluginError) -> String {
        var text = try secretText(name)
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }

    /// A signed JSON Web Token (RFC 7519) with the members that `claims` writes.
    ///
    /// `key` names a secret, and `pointer` the place of the key in it. An empty `type` or `keyID` is left out.
    public func webToken(
        _ algorithm: Algorithm, key: String, pointer: String = "", type: String = "JWT",
        keyID: String = "", claims: (inout JSONWriter) -> Void
    ) throws(PluginError) -> String {
        let names: [Algorithm: String] = [
            .es256: "ES256", .rs256: "RS256", .ps256: "PS256", .hmacSHA256: "HS256",
            .ed25519: "EdDSA",
        ]
        var head = JSONWriter()
        head.object { out in
            out.member("alg", names[algorithm] ?? "")
            out.member("typ", type)
            out.member("kid", keyID)
        }
        var body = JSONWriter()
        body.object(claims)
        let text = Base64URL.encode(head.bytes) + "." + Base64URL.encode(body.bytes)
        let signature = try sign(algorithm, key: key, pointer: pointer, data: Array(text.utf8))
        return text + "." + Base64URL.encode(signature)
    }

    /// Asks an OAuth endpoint for an access token (RFC 6749); `form` is the body, already encoded.
    ///
    /// Throws `auth` if the endpoint refuses for good.
    public func accessToken(
        from url: String, form: String, caFile: String
    ) throws(PluginError) -> Credential {
        var call = HTTPCall("POST", url)
        call.headers = [("content-type", "application/x-www-form-urlencoded")]
        call.body = Array(form.utf8)
        call.caFile = caFile
        let asked = nowUnixMs
        let answer = try self.call(call)
        let json = try? parse(answer.body.span)
        guard answer.status == 200 else {
            // Codes alone: a description may repeat what was sent.
            let codes = ["error", "sub_error"].compactMap { json?[$0]?.scalarText?.prefix(64) }
            let code = codes.isEmpty ? "no reason given" : codes.joined(separator: "/")
            // What is refused stays refused until somebody changes it; everything else may pass.
            let isFinal = [400, 401, 403].contains(answer.status)
            throw PluginError(
                isFinal ? .auth : .unreachable,
                "the token endpoint answered \(answer.status): \(code)")
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
            value: token, refreshUnixMs: asked + life - ahead, expiresUnixMs: asked + life)
    }
}
