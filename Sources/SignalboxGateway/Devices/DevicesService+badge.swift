internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON

extension DevicesService {
    /// Sets the badge counter of the named user or of the named device's user; pushes nothing.
    func setBadge(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        let json = try object(request, caller)
        try checkMembers(of: json, known: ["app", "user", "token", "badge"])
        guard let badge = json["badge"]?.integer, let number = Int32(exactly: badge), number >= 0
        else {
            throw Problem(400, "\"badge\" must be a number from 0 to \(Int32.max)")
        }
        var updated = 0
        for user in try await owners(json, caller) {
            let key = UserKey(app: caller.app, user: user)
            if try await registry.setBadge(number, of: key) { updated += 1 }
        }
        return Self.json([.init("updated", .integer(Int64(updated)))])
    }

    private func owners(_ json: JSONValue, _ caller: DeviceCaller) async throws -> [String] {
        let given = try text(json, "user", required: false)
        let token = try text(json, "token", max: DeviceRules.tokenBytesMax, required: false)
        guard given.isEmpty, !token.isEmpty else {
            guard token.isEmpty else { throw Problem(400, "give either user or token") }
            guard !given.isEmpty || caller.user != nil else {
                throw Problem(400, "give user or token")
            }
            return [try user(given, caller)]
        }
        return Set(try await owned(token, caller).map(\.user)).sorted()
    }
}
