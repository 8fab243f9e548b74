internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON

/// The simulators' control API over plain HTTP.
///
/// It has `POST /apns/orders`, `GET /apns/received?count=N&timeout_ms=M`, `DELETE /apns/received`,
/// and the same under `/fcm`, `/hms`, `/airship`, `/telegram` and `/provider`. Under `/login` is the login.
struct ControlService: AsyncHTTPServerHandler {
    let simulators: [Simulator]
    let login: LoginSimulator

    /// What a path of the login asks for.
    private func login(_ path: String) -> Substring? {
        let parts = path.split(separator: "/")
        guard parts.count == 2, parts[0] == "login", LoginSimulator.paths.contains(String(parts[1]))
        else { return nil }
        return parts[1]
    }

    private func find(_ path: String) -> (simulator: Simulator, what: Substring)? {
        let parts = path.split(separator: "/")
        guard parts.count == 2, let found = simulators.first(where: { $0.provider == parts[0] })
        else { return nil }
        return (found, parts[1])
    }

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        let allowed: [String]
        // It says itself which methods it knows.
        if login(path) != nil { return nil }
        switch find(path)?.what {
        case "orders": allowed = ["POST"]
        case "received": allowed = ["GET", "DELETE"]
        default:
            let known =
                simulators.flatMap { one in
                    ["orders", "received"].map { "/\(one.provider)/\($0)" }
                } + LoginSimulator.paths.map { "/login/\($0)" }
            return Problem(404, "known: \(known.joined(separator: ", "))").answer
        }
        if allowed.contains(method) { return nil }
        return Problem.methodNotAllowed(allowed)
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        if let what = login(request.path) {
            let host = request.header("host") ?? ""
            return login.answer(request, what, issuer: "http://\(host)/login")
        }
        guard let (simulator, what) = find(request.path) else {
            return Problem(404, "there is no such simulator").answer
        }
        if what == "orders" { return await take(request.body, simulator) }
        if request.method == "DELETE" {
            simulator.forget()
            return HTTPServerAnswer(status: 204)
        }
        let received = await simulator.wait(
            for: Self.number("count", request.query) ?? 0,
            timeoutMs: UInt64(clamping: min(Self.number("timeout_ms", request.query) ?? 0, 600_000))
        )
        return .json(.array(received.map(\.json)))
    }

    private func take(_ body: [UInt8], _ simulator: Simulator) async -> HTTPServerAnswer {
        guard let json = try? JSONValue.parse(body) else {
            return Problem(400, "the order is not JSON").answer
        }
        switch SimulatorOrder.parse(json) {
        case .failure(let fault): return Problem(400, fault.message).answer
        case .success(let order):
            do {
                try await simulator.take(order)
                return HTTPServerAnswer(status: 204)
            } catch {
                return Problem(500, "the order could not be carried out: \(error)").answer
            }
        }
    }

    private static func number(_ name: String, _ query: String) -> Int? {
        for pair in query.split(separator: "&") where pair.hasPrefix("\(name)=") {
            return Int(pair.dropFirst(name.count + 1)).map { max(0, $0) }
        }
        return nil
    }
}
