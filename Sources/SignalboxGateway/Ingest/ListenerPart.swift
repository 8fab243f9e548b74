package import SignalboxHTTP

/// The part of the public paths that a listener serves if the device registry has its own listener.
package struct ListenerPart: HTTPServerHandler {
    let service: IngestService
    /// True for the device registry only; false for everything else.
    let isDevices: Bool

    package init(service: IngestService, isDevices: Bool) {
        self.service = service
        self.isDevices = isDevices
    }

    package func refusal(method: String, path: String) -> HTTPServerAnswer? {
        guard DevicesService.serves(path) == isDevices else {
            return Problem(404, "nothing is served under this path").answer
        }
        return service.refusal(method: method, path: path)
    }

    package func wasRefused(method: String, path: String, status: Int) {
        service.wasRefused(method: method, path: path, status: status)
    }

    package func answer(
        _ request: HTTPServerRequest, done: @escaping @Sendable (HTTPServerAnswer) -> Void
    ) { service.answer(request, done: done) }
}
