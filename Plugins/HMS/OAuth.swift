import SignalboxPluginKit

/// Gets an access token for a client's id and secret (RFC 6749, client credentials).
enum OAuth {
    static func token(_ config: Config, host: Host) throws(PluginError) -> Credential {
        // Read each time, so that a changed secret file counts at the next refresh.
        let secret = PathSegment.encode(try host.secretLine(config.clientSecret))
        let id = PathSegment.encode(config.clientID)
        return try host.accessToken(
            from: config.tokenURL,
            form: "grant_type=client_credentials&client_id=\(id)&client_secret=\(secret)",
            caFile: config.connections.caFile)
    }
}
