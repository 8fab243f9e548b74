internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP

/// `GET /export` and `POST /forget` on the admin listener: what is stored about a user, and its removal.
struct PeopleAdmin: Sendable {
    let context: DispatchContext
    let lanes: LaneTable
    let deviceReports: DeviceReports

    var paths: [AdminPath] {
        [
            .export("/export") { request in
                do { return try await export(request) } catch { return Problem.busy("\(error)") }
            },
            .change("/forget") { request in
                await AdminBody.answer { try await forget(request) }
            },
        ]
    }

    private func export(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        var values: [String: String] = [:]
        for pair in request.query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = PercentEncoding.decode(parts[1]) }
        }
        guard let user = Self.user(values["user"], values["app"]) else {
            return Problem(400, "give user, the name of a user").answer
        }
        return .json(try await PersonExport(context: context).json(user))
    }

    private func forget(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        let body = try AdminBody(request.body, ["user": .name, "app": .text])
        guard let user = Self.user(body.text("user"), body.text("app")) else {
            return Problem(400, "give user, the name of a user").answer
        }
        let forgetting = Forgetting(
            context: context, lanes: lanes, deviceReports: deviceReports)
        guard let result = try await forgetting.run(user) else {
            return Problem(
                409,
                "\(ForgottenEntry.countMax) users were forgotten within 31 days; repeat this later"
            ).answer
        }
        return .json(result.json)
    }

    private static func user(_ name: String?, _ app: String?) -> UserKey? {
        name.flatMap { $0.isEmpty ? nil : UserKey(app: app ?? "", user: $0) }
    }
}
