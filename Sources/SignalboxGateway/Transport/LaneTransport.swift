internal import SignalboxCore
package import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxPluginHost

/// Carries a lane's requests.
protocol LaneTransport: Sendable {
    /// Whether requests may go to other origins than the endpoint's.
    var takesOrigins: Bool { get }
    func submit(_ batch: RequestBatch)
    func leave(connection: UInt64)
    /// Returns unsent requests.
    func withdraw()
    /// The plugin's secrets have changed; this is its new endpoint.
    func renew(_ endpoint: SendEndpoint) throws
    func connections() async -> LaneConnections
    func shutdown(deadlineMs: Int) async
}

extension PushPool: LaneTransport {
    var takesOrigins: Bool { false }
    func renew(_ endpoint: SendEndpoint) throws { try renew(try endpoint.pushEndpoint(proxies)) }

    package func connections() async -> LaneConnections {
        let status = await status()
        var connections = LaneConnections()
        connections.readyCount = status.ready
        connections.connectingCount = status.connecting
        connections.failure = status.failure
        connections.proxy = status.proxy.map { "\($0)" } ?? ""
        return connections
    }
}
