import SignalboxPluginKit

/// Desk's API.
enum TicketAPI {
    /// `GET /platform/v1/tickets?channel_url=...`
    static func ticket(_ config: Config, token: String, channelURL: String) -> HTTPCall {
        let channel = PathSegment.encode(channelURL)
        var call = HTTPCall(
            "GET", "\(config.origin)/platform/v1/tickets?channel_url=\(channel)&limit=1")
        call.headers = [("sendbirddeskapitoken", token)]
        call.caFile = config.caFile
        call.timeoutMs = 2_000
        return call
    }
}
