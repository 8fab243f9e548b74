internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP

/// `GET /export` and `POST /forget` on the admin listener: what is stored about a user, and its removal.
struct PeopleAdmin: Sendable {
    let export: PersonExport
    let forgetting: Forgetting

    var paths: [AdminPath] {
        [
            AdminPath(.export) { input, _ in
                .json(try await export.json(try user(input)))
            },
            AdminPath(.forget) { input, _ in try await forget(try user(input)) },
        ]
    }

    private func user(_ input: AdminInput) throws -> UserKey {
        guard let user = input.text("user") else {
            throw Problem(400, "give user, the name of a user")
        }
        return UserKey(app: input.text("app") ?? "", user: user)
    }

    private func forget(_ user: UserKey) async throws -> HTTPServerAnswer {
        guard let result = try await forgetting.run(user) else {
            throw Problem(
                409,
                "\(ForgottenEntry.countMax) users were forgotten within 31 days; repeat this later")
        }
        return .json(result.json)
    }
}
