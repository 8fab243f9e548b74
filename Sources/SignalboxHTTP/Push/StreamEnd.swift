internal import SignalboxCore

/// How a stream ended.
enum StreamEnd {
    case answered(HTTPResponse)
    /// No answer; the text says why, or is empty.
    case failed(TransportFault, String)
    /// The peer did not process the request, so another connection may. `isRefused`: the peer reset the stream itself.
    case moved(isRefused: Bool)
}
