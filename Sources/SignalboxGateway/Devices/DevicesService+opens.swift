internal import SignalboxCore
package import SignalboxHTTP
internal import SignalboxJSON

/// Apps report opened notifications, which are passed on to outcome receivers.
extension DevicesService {
    private static let opensMax = 100
    /// Most devices of a user whose tokens are compared with events that named no user.
    private static let devicesMax = 10

    /// An app's report about one notification.
    private struct Opened {
        /// Nil for an open that no receiver wants.
        var mark: OpenMark?
        var user: String
        var unixMs: UInt64
    }

    package func opened(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        guard case .array(let items) = try object(request, caller)["opens"], !items.isEmpty,
            items.count <= Self.opensMax
        else {
            throw Problem(
                400, "\"opens\" must be a list of 1 to \(Self.opensMax) objects with \"event\"")
        }
        let wish = outcomes.wish
        // Unwanted opens are ignored, not refused: an app could only repeat them.
        let told = try items.map { try opened($0, caller, wish) }.filter { $0.mark != nil }
        var pack = OutcomePack()
        for open in try await counted(told, caller) {
            guard let mark = open.mark else { continue }
            pack.add(opened: mark, user: open.user, app: caller.app, unixMs: open.unixMs)
            if access.keepsHistory {
                var step = HistoryStep(.opened, eventID: mark.eventID, unixMs: open.unixMs)
                step.who = open.user
                pack.history.add(step, user: open.user)
            }
        }
        try await outcomes.append(pack)
        return Self.json([
            .init("accepted", .integer(Int64(pack.count))),
            .init("ignored", .integer(Int64(items.count - pack.count))),
        ])
    }

    private func opened(
        _ item: JSONValue, _ caller: DeviceCaller, _ wish: OutcomeWish?
    ) throws -> Opened {
        guard case .object = item else {
            throw Problem(400, "each of \"opens\" must be an object with \"event\"")
        }
        try checkMembers(of: item, known: ["event", "user", "opened_unix_ms"])
        let event = try text(item, "event")
        let given = try text(item, "user", required: false)
        let user = caller.user == nil && given.isEmpty ? "" : try self.user(given, caller)
        let time = item["opened_unix_ms"]
        guard time == nil || time?.integer ?? -1 >= 0 else {
            throw Problem(400, "\"opened_unix_ms\" must be milliseconds since 1970")
        }
        let mark = OpenMark(event).flatMap { mark in
            access.routes.contains(mark.route) && wish?.takes(.opened, route: mark.route) == true
                ? mark : nil
        }
        // A device's clock may be ahead.
        let now = clock()
        return Opened(
            mark: mark, user: user,
            unixMs: min(now, UInt64(clamping: time?.integer ?? Int64(clamping: now))))
    }

    /// The opens that count, one per push and user. Users may only report pushes sent to them; clients are trusted.
    private func counted(_ told: [Opened], _ caller: DeviceCaller) async throws -> [Opened] {
        guard !told.isEmpty else { return [] }
        var told = told
        if let user = caller.user {
            let shown = try await shown(told.compactMap(\.mark), to: user, of: caller.app)
            told = told.filter { $0.mark.map(shown.contains) ?? false }
        }
        // Opens without a user come from a client and cannot be counted per user.
        let named = told.indices.filter { !told[$0].user.isEmpty }
        let used = try await use(
            named.compactMap { place in
                let user = UserKey(app: caller.app, user: told[place].user)
                return told[place].mark.map { OpenClaim($0, of: .user(user)) }
            })
        let left = Set(used.map { named[$0] })
        return told.indices.filter { !left.contains($0) }.map { told[$0] }
    }

    /// Which of these pushes went to the user, by name or to one of their newest devices.
    private func shown(
        _ marks: [OpenMark], to user: String, of app: String
    ) async throws -> Set<OpenMark> {
        let devices = try await registry.devices(app: app, user: user).prefix(Self.devicesMax)
        // A device named by its event may have no app.
        let owners =
            [app, ""].map { OpenClaim.Owner.user(UserKey(app: $0, user: user)) }
            + devices.map { .token($0.device.token) }
        let claims = Set(marks).flatMap { mark in owners.map { OpenClaim(mark, of: $0) } }
        let known: [Bool] = try await withCheckedThrowingContinuation { continuation in
            registry.wereShown(claims) { continuation.resume(with: $0) }
        }
        return Set(zip(claims, known).lazy.filter(\.1).map(\.0.mark))
    }

    /// Uses claims; returns the indexes of those already used.
    private func use(_ claims: [OpenClaim]) async throws -> Set<Int> {
        guard !claims.isEmpty else { return [] }
        let entry = StoreEntry(
            items: claims.map(\.use), receivedUnixMs: clock(), dedupeMs: OpenClaim.lifeMs)
        let answer = await withCheckedContinuation { continuation in
            registry.append(entry) { continuation.resume(returning: $0) }
        }
        guard case .committed(let commit) = answer else {
            throw answer == .full ? StoreFailure.full : StoreFailure(message: answer.words)
        }
        return commit.duplicates
    }
}
