internal import SignalboxHTTP
internal import Synchronization

/// The REST clients of senders and reports, made when first needed. Plugin calls use others, so that a slow receiver
/// does not delay a token request.
final class RESTSends: Sendable {
    /// Per sender. Each lane has fewer in progress; the rest waits in the lane.
    private static let callsMax = 8_192

    private let made = Mutex<RESTTransport.Clients?>(nil)

    func clients() throws -> RESTTransport.Clients {
        try made.withLock { made in
            if let made { return made }
            let clients = RESTTransport.Clients(
                own: try RESTClient(callsMax: Self.callsMax),
                public_: try RESTClient(callsMax: Self.callsMax, isPublicOnly: true))
            made = clients
            return clients
        }
    }

    func close() async {
        guard let clients = made.withLock({ $0 }) else { return }
        await clients.own.close()
        await clients.public_.close()
    }
}
