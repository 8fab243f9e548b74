internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxJSON

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
                do { return try await forget(request) } catch { return Problem.busy("\(error)") }
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
        guard let json = try? JSONValue.parse(request.body), case .object(let members) = json else {
            return Problem(400, "the body must be a JSON object").answer
        }
        let known: Set = ["user", "app"]
        if let other = members.first(where: { !known.contains($0.key) })?.key {
            let hint = Suggestion.hint(for: other, among: known.sorted())
            return Problem(400, "unknown member \"\(other)\"\(hint)").answer
        }
        guard let user = Self.user(json["user"]?.string, json["app"]?.string) else {
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
