package import SignalboxHTTP
internal import SignalboxPluginHost

extension IngestResult {
    /// The answer to a request, once its events are on disk.
    package var httpAnswer: HTTPServerAnswer {
        if let answer {
            return HTTPServerAnswer(
                status: Int(answer.status), headers: answer.headers, body: answer.body)
        }
        guard let fault else {
            return HTTPServerAnswer(status: events.isEmpty && changes.isEmpty ? 202 : 200)
        }
        switch fault.kind {
        case .invalid: return Problem(400, fault.message).answer
        case .auth: return Problem(401, fault.message).answer
        case .notFound: return Problem(404, fault.message).answer
        case .tooLarge: return Problem(413, fault.message).answer
        case .lost: return Problem(422, "the plugin could not handle this request").answer
        case .again, .stopping, .timeout: return Problem.busy(fault.message)
        default: return Problem(500, "the plugin could not handle this request").answer
        }
    }
}
