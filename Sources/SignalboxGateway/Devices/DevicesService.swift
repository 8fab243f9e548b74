internal import SignalboxConfig
package import SignalboxCore
package import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxObservability

/// The device registry's API on the public listener, `/v1/devices` and `/v1/opens`, as described in
/// docs/openapi.json.
package struct DevicesService: Sendable {
    package static let prefix = "/v1/devices"
    private static let methods = [
        "/v1/devices": ["GET", "POST", "DELETE"], "/v1/devices/presence": ["PUT"],
        "/v1/devices/badge": ["PUT"],
        opens: ["POST"],
    ]
    package static let opens = "/v1/opens"
    private static let badge = "/v1/devices/badge"
    /// The parameters of DELETE.
    private static let removal = ["user", "token", "unregister"]

    package let access: DeviceAccess
    package let registry: any GatewayStore
    package let names: UserNames
    package let deviceReports: DeviceReports
    package let outcomes: OutcomeStream
    let bounds: UserBounds
    package let metrics: GatewayMetrics
    package let clock: @Sendable () -> UInt64
    /// Records changes.
    let onChange: @Sendable (Audit.Record) -> Void

    /// Whether this service serves a path.
    package static func serves(_ path: String) -> Bool {
        path == prefix || path.hasPrefix(prefix + "/") || path == opens
    }

    package func refusal(method: String, path: String) -> HTTPServerAnswer? {
        // Without clients or users nobody may call it, so the path does not exist.
        guard !access.clients.isEmpty || !access.users.isEmpty, let allowed = Self.methods[path]
        else {
            return Problem(404, "nothing is served under this path").answer
        }
        if allowed.contains(method) { return nil }
        return Problem.methodNotAllowed(allowed)
    }

    package func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        let caller: DeviceCaller
        do throws(Stranger) {
            caller = try await self.caller(of: request)
        } catch {
            switch error {
            case .unknown(let words):
                let answer = unauthorized(words)
                record(request, answer, nil)
                return answer
            case .unavailable(let words): return Problem.busy(words)
            case .tooMany(let seconds):
                return Problem.tooMany(
                    "too many authorization codes from this address", retryAfterSeconds: seconds)
            }
        }
        if request.method != "GET", let user = caller.user,
            let wait = bounds.wait(of: user, in: caller.app, perSecond: access.userRate)
        {
            metrics.limitsReached["listen", "user_rate"].add()
            return Problem.tooMany("too many changes of this user", retryAfterSeconds: wait)
        }
        let answer = await self.answer(request, caller)
        record(request, answer, caller)
        return answer
    }

    /// Presence and opens are not recorded, since they do not change the registry.
    private func record(
        _ request: HTTPServerRequest, _ answer: HTTPServerAnswer, _ caller: DeviceCaller?
    ) {
        guard request.method != "GET", [Self.prefix, Self.badge].contains(request.path)
        else { return }
        var detail: [JSONValue.Member] = []
        if let caller {
            detail.append(.init("app", .string(caller.app)))
            let query = try? Self.parameters(request, known: Self.removal)
            let user =
                caller.user ?? query?["user"]
                ?? (try? JSONValue.parse(request.body))?["user"]?.string
            if let name = user.flatMap(names.name) {
                detail.append(.init("user", .string(name)))
            }
        }
        onChange(
            Audit.Record(
                action: "\(request.method) \(request.path)", caller: caller?.name ?? "",
                address: request.remote, status: answer.status,
                detail: detail.isEmpty ? .null : .object(detail)))
    }

    private func answer(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async -> HTTPServerAnswer {
        let scope =
            switch request.path {
            case "/v1/devices/presence": "presence"
            case "/v1/devices/badge": "badge"
            default: request.method == "GET" ? "read" : "write"
            }
        let isOpens = request.path == Self.opens
        guard caller.scopes.contains(scope) || isOpens && caller.scopes.contains("opens") else {
            let missing = isOpens ? "opens" : scope
            return Problem(403, "this token does not have the scope \(missing)").answer
        }
        do {
            if isOpens { return try await opened(request, caller) }
            switch (request.method, request.path) {
            case ("GET", _): return try await list(request, caller)
            case ("POST", _): return try await register(request, caller)
            case ("DELETE", _): return try await unregister(request, caller)
            case (_, "/v1/devices/badge"): return try await setBadge(request, caller)
            default: return try await presence(request, caller)
            }
        } catch let problem as Problem {
            return problem.answer
        } catch let failure as StoreFailure where failure == .full {
            return Problem.busy(failure.message)
        } catch {
            return Problem.busy("the registry cannot be reached")
        }
    }

    private func unauthorized(_ words: String) -> HTTPServerAnswer {
        var answer = Problem(401, words).answer
        answer.headers.append(Attribute("www-authenticate", "Bearer"))
        return answer
    }

    private static let registrationKeys = [
        "app", "user", "platform", "token", "provider", "locale", "source_token", "attributes",
        "unique",
        "code", "code_verifier", "redirect_uri", "client_id",
    ]

    private func register(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        let json = try object(request, caller)
        try checkMembers(of: json, known: Self.registrationKeys)
        var device = Device(app: caller.app)
        device.user = try user(try text(json, "user", required: false), caller)
        device.platform = try text(json, "platform", max: 32)
        device.provider = try text(json, "provider", max: 32, required: false)
        device.locale = try text(json, "locale", max: 64, required: false)
        device.sourceToken = try text(
            json, "source_token", max: DeviceRules.tokenBytesMax, required: false)
        device.token = try text(json, "token", max: DeviceRules.tokenBytesMax)
        device.spell()
        guard Self.isPlatform(device.platform) else {
            throw Problem(
                400, "\"platform\" has letters, digits, ., - and _, such as ios or android")
        }
        if let fault = DeviceToken.fault(device.token) {
            throw Problem(400, "\"token\" \(fault)")
        }
        device.attributes = try attributes(json)
        if caller.user != nil { try requireDevice(device) }
        if caller.user != nil, !device.sourceToken.isEmpty,
            !DeviceToken.isSame(device.token, named: device.sourceToken)
        {
            throw Problem(
                403,
                "\"source_token\" is another device's token to its source: a client may give it"
            )
        }
        let isUnique = try flag(json, "unique", otherwise: true)
        let platforms = access.tokens.platforms(of: device)
        var changes: [DeviceChange] = []
        if isUnique {
            // The previous users lose the token, which listeners must be told.
            let former = try await find(app: caller.app, token: device.token)
            changes = former.filter {
                !$0.user.hasSameBytes(as: device.user) && platforms.contains($0.platform)
            }.map { change(.unregistered, $0) }
        }
        changes.append(change(.registered, device))
        if caller.hasOneDevice {
            changes[changes.count - 1].platforms = platforms
            changes[changes.count - 1].isShared = !isUnique
            return try await replace(others(than: device), by: changes)
        }
        let evicted = try await registry.register(
            device, isUnique: isUnique, among: platforms,
            reports: deviceReports.reports(of: changes, from: ""))
        return Self.json([.init("evicted", .integer(Int64(evicted)))])
    }

    /// The user's other devices; addresses do not count as devices.
    private func others(than device: Device) async throws -> [Device] {
        try await registry.devices(app: device.app, user: device.user).map(\.device).filter {
            $0.token != device.token && !access.tokens.isAddress($0)
        }
    }

    /// Replaces them in one commit. After two simultaneous logins both devices stay until the next login.
    private func replace(
        _ others: [Device], by changes: [DeviceChange]
    ) async throws -> HTTPServerAnswer {
        let all = others.map { change(.unregistered, $0) } + changes
        try await withCheckedThrowingContinuation { continuation in
            registry.change(all, reports: deviceReports.reports(of: all, from: "")) {
                continuation.resume(with: $0)
            }
        }
        return Self.json([.init("evicted", .integer(Int64(others.count)))])
    }

    /// End users may only register tokens known to their device alone, which only a platform's sender can tell.
    private func requireDevice(_ device: Device) throws {
        guard isUsed(device) else {
            throw Problem(
                403,
                "no route sends to the platform \"\(device.platform)\"; those of routes: "
                    + access.tokens.platforms.known.joined(separator: ", "))
        }
        guard !access.tokens.isAddress(device) else {
            throw Problem(
                403,
                "\"token\" is an address, a chat or an audience, or no token of the platform "
                    + "\"\(device.platform)\": a client may register it")
        }
    }

    /// Whether a sender uses the device's token, or a plugin whose provider pushes by itself.
    private func isUsed(_ device: Device) -> Bool {
        !access.tokens.platforms.senders(of: device.platform).isEmpty
            || deviceReports.forwardsRegistrations(app: device.app)
    }

    private func unregister(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        // A typo must not remove too much: without a token, all devices of the user are removed.
        let parameters = try Self.parameters(request, known: Self.removal)
        guard request.body.isEmpty else {
            throw Problem(400, "DELETE takes no body: give user or token in the query")
        }
        let (given, token) = (parameters["user"], parameters["token"])
        let scope = parameters["unregister"] ?? "all"
        guard ["all", "agent", "none"].contains(scope) else {
            throw Problem(400, "unregister must be all, agent or none")
        }
        let devices: [Device]
        switch (given, token) {
        case (nil, let token?):
            devices = try await owned(token, caller)
        case (_, nil) where given != nil || caller.user != nil:
            devices = try await registry.devices(
                app: caller.app, user: try user(given ?? "", caller)
            ).map(\.device)
        default: throw Problem(400, "give either user (logout) or token (one device)")
        }
        switch scope {
        case "none": return Self.json([.init("removed", .integer(0))])
        case "agent":
            // Mutes pushes of conversations with agents; proactive pushes continue.
            for device in devices { try await mute(device) }
            return Self.json([
                .init("removed", .integer(0)), .init("muted", .integer(Int64(devices.count))),
            ])
        default: break
        }
        let changes = devices.map { change(.unregistered, $0) }
        let removed = try await registry.unregister(
            devices, reports: deviceReports.reports(of: changes, from: ""))
        return Self.json([.init("removed", .integer(Int64(removed)))])
    }

    private func mute(_ device: Device) async throws {
        let others = device.attributes.filter { $0.key != "muted" }
        _ = try await registry.setAttributes(
            others + [Attribute("muted", "agent")], of: device)
    }

    private func change(_ kind: DeviceChange.Kind, _ device: Device) -> DeviceChange {
        DeviceChange(kind: kind, device: device, timeUnixMs: clock())
    }

    /// The devices with a token that the caller may change.
    ///
    /// The token of another user's phone proves possession, so the caller learns of it. Addresses can be guessed, so
    /// whether another user has one is not revealed.
    package func owned(_ token: String, _ caller: DeviceCaller) async throws -> [Device] {
        let found = try await find(app: caller.app, token: token)
        guard let user = caller.user else { return found }
        let own = found.filter { $0.user.hasSameBytes(as: user) }
        guard !own.isEmpty || found.allSatisfy(access.tokens.isAddress) else {
            throw Problem(403, "this device is another user's")
        }
        return own
    }

    package func find(app: String, token: String) async throws -> [Device] {
        try await withCheckedThrowingContinuation { continuation in
            registry.find(app: app, token: token) { result in
                continuation.resume(with: result.map { $0.map(\.device) })
            }
        }
    }

    private func list(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        let given = try Self.parameters(request, known: ["user"])["user"] ?? ""
        guard !given.isEmpty || caller.user != nil else {
            throw Problem(400, "the parameter user is required")
        }
        let user = try self.user(given, caller)
        let devices = try await registry.devices(app: caller.app, user: user)
        var members = [JSONValue.Member("devices", .array(devices.map { Self.json($0) }))]
        if let name = names.name(user) { members.append(.init("log_name", .string(name))) }
        return Self.json(members)
    }

    private func presence(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        let json = try object(request, caller)
        try checkMembers(of: json, known: ["app", "user", "token", "online", "ttl"])
        guard case .bool(let isOnline) = json["online"] else {
            throw Problem(400, "\"online\" must be true or false")
        }
        let seconds = try presenceSeconds(json)
        let token = try text(json, "token", max: DeviceRules.tokenBytesMax, required: false)
        let count = try await registry.setPresence(
            app: caller.app, user: try user(try text(json, "user", required: false), caller),
            token: token.isEmpty ? nil : token,
            onlineForMs: isOnline ? seconds * 1_000 : 0)
        return Self.json([.init("updated", .integer(Int64(count)))])
    }

    private static func json(_ entry: RegisteredDevice) -> JSONValue {
        let device = entry.device
        return [
            "token": .string(device.token), "user": .string(device.user),
            "platform": .string(device.platform), "provider": .string(device.provider),
            "locale": .string(device.locale), "online": .bool(entry.isOnline),
            "attributes": .object(device.attributes.map { .init($0.key, .string($0.value)) }),
            "registered_unix_ms": .integer(Int64(clamping: device.registeredUnixMs)),
        ]
    }

    package static func json(_ members: [JSONValue.Member]) -> HTTPServerAnswer {
        .json(.object(members))
    }
}
