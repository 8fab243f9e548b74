package import SignalboxHTTP
internal import SignalboxPluginHost

extension SendEndpoint {
    /// The endpoint for the push engine, with its defaults where the plugin gives none.
    package func pushEndpoint(
        _ proxies: ProxyRules = .direct
    ) throws(EndpointError) -> PushEndpoint {
        var endpoint = try PushEndpoint(origin: origin)
        endpoint.proxies = proxies
        endpoint.caFile = caFile
        endpoint.clientCertificatePEM = clientIdentity?.certificate
        endpoint.clientKeyPEM = clientIdentity?.key
        endpoint.isALPNRequired = isALPNRequired
        endpoint.isOneStreamFirst = isOneStreamFirst
        if requestTimeoutMs > 0 { endpoint.requestTimeoutMs = requestTimeoutMs }
        if connectTimeoutMs > 0 { endpoint.connectTimeoutMs = connectTimeoutMs }
        endpoint.pingIdleMs = pingIdleMs
        if pingTimeoutMs > 0 { endpoint.pingTimeoutMs = pingTimeoutMs }
        if connectionsMax > 0 { endpoint.connectionsMax = connectionsMax }
        endpoint.streamsMax = streamsMax
        return endpoint
    }
}
