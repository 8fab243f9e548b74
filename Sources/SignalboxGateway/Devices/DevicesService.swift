internal import SignalboxConfig
package import SignalboxCore
package import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxObservability

/// The device registry's API on the public listener, under `/v1/devices`, with `/v1/opens`;
/// docs/openapi.json describes it.
package struct DevicesService: Sendable {
    package static let prefix = "/v1/devices"
    private static let methods = [
        "/v1/devices": ["GET", "POST", "DELETE"], "/v1/devices/presence": ["PUT"],
        "/v1/devices/badge": ["PUT"],
        opens: ["POST"],
    ]
    package static let opens = "/v1/opens"
    private static let badge = "/v1/devices/badge"

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

    /// Whether a path is this service's.
    package static func serves(_ path: String) -> Bool {
        path == prefix || path.hasPrefix(prefix + "/") || path == opens
    }

    package func refusal(method: String, path: String) -> HTTPServerAnswer? {
        // Without clients nobody may use it, so there is no such path.
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

    /// What apps report of themselves (presence, opens) is no change of the registry.
    private func record(
        _ request: HTTPServerRequest, _ answer: HTTPServerAnswer, _ caller: DeviceCaller?
    ) {
        guard request.method != "GET", [Self.prefix, Self.badge].contains(request.path)
        else { return }
        var detail: [JSONValue.Member] = []
        if let caller {
            detail.append(.init("app", .string(caller.app)))
            let user = caller.user ?? (try? JSONValue.parse(request.body))?["user"]?.string
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
        } catch let problem as Refusal {
            return Problem(problem.status, problem.detail).answer
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

    struct Refusal: Error {
        var status = 400
        var detail: String
    }

    /// The user that the request is about: a user's request can only be about that user.
    package func user(_ given: String, _ caller: DeviceCaller) throws -> String {
        guard let own = caller.user else {
            guard !given.isEmpty else { throw Refusal(detail: "\"user\" is required") }
            return given
        }
        guard given.isEmpty || given == own else {
            throw Refusal(status: 403, detail: "this token is another user's")
        }
        return own
    }

    /// The body; one that names another app than the caller's is meant for another place.
    package func object(_ request: HTTPServerRequest, _ caller: DeviceCaller) throws -> JSONValue {
        guard let json = try? JSONValue.parse(request.body), case .object = json else {
            throw Refusal(detail: "the body must be a JSON object")
        }
        guard json["app"].map({ $0.string == caller.app }) ?? true else {
            throw Refusal(
                status: 403,
                detail: "\"app\" must be \"\(caller.app)\", which this token is for, or left out")
        }
        return json
    }

    package func text(
        _ json: JSONValue, _ key: String, max: Int = 256, required: Bool = true
    ) throws -> String {
        let text = json[key]?.string ?? ""
        guard json[key] == nil || json[key]?.string != nil else {
            throw Refusal(detail: "\"\(key)\" must be text")
        }
        guard !required || !text.isEmpty else { throw Refusal(detail: "\"\(key)\" is required") }
        guard text.utf8.count <= max else {
            throw Refusal(detail: "\"\(key)\" is over \(max) bytes")
        }
        // Tokens have rules of their own.
        guard key == "token" || DeviceRules.isPlain(text) else {
            throw Refusal(detail: "\"\(key)\" has a control character")
        }
        return text
    }

    /// Routes name it; with a space at its end it would be one that no route has.
    private static func isPlatform(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    /// What is misspelt would be missing without a word.
    func checkMembers(of json: JSONValue, known: [String]) throws {
        guard case .object(let members) = json else { return }
        for member in members where !known.contains(member.key) {
            throw Refusal(
                detail: "there is no \"\(member.key.prefix(64))\""
                    + Suggestion.hint(for: member.key, among: known)
                    + "; known: " + known.joined(separator: ", "))
        }
    }

    private static let registrationKeys = [
        "app", "user", "platform", "token", "provider", "locale", "source_token", "attributes",
        "unique",
        "code", "code_verifier", "redirect_uri", "client_id",
    ]

    private func flag(_ json: JSONValue, _ key: String, otherwise: Bool) throws -> Bool {
        switch json[key] {
        case nil: return otherwise
        case .bool(let value): return value
        default: throw Refusal(detail: "\"\(key)\" must be true or false")
        }
    }

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
            throw Refusal(
                detail: "\"platform\" has letters, digits, ., - and _, such as ios or android")
        }
        if let fault = DeviceToken.fault(device.token) {
            throw Refusal(detail: "\"token\" \(fault)")
        }
        device.attributes = try attributes(json)
        if caller.user != nil { try requireDevice(device) }
        if caller.user != nil, !device.sourceToken.isEmpty,
            !DeviceToken.isSame(device.token, named: device.sourceToken)
        {
            throw Refusal(
                status: 403,
                detail:
                    "\"source_token\" is another device's token to its source: a client may give it"
            )
        }
        let isUnique = try flag(json, "unique", otherwise: true)
        let platforms = access.tokens.platforms(of: device)
        var changes: [DeviceChange] = []
        if isUnique {
            // Who had the token has it no more, and those who were told of them must know.
            let former = try await find(app: caller.app, token: device.token)
            changes = former.filter { $0.user != device.user && platforms.contains($0.platform) }
                .map { change(.unregistered, $0) }
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

    /// The user's devices besides one that is being registered; an address is none.
    private func others(than device: Device) async throws -> [Device] {
        try await registry.devices(app: device.app, user: device.user).map(\.device).filter {
            $0.token != device.token && !access.tokens.isAddress($0)
        }
    }

    /// In one step: of two logins at once both stay, until the next one.
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

    /// A user registers what only their own device knows. A platform that nobody sends to has no rules for its tokens yet.
    private func requireDevice(_ device: Device) throws {
        guard isUsed(device) else {
            throw Refusal(
                status: 403,
                detail: "no route sends to the platform \"\(device.platform)\"; those of routes: "
                    + access.tokens.platforms.known.joined(separator: ", "))
        }
        guard !access.tokens.isAddress(device) else {
            throw Refusal(
                status: 403,
                detail:
                    "\"token\" is an address, a chat or an audience, or no token of the platform "
                    + "\"\(device.platform)\": a client may register it")
        }
    }

    /// Whether a sender gets the device's token, or a plugin whose provider pushes by itself.
    private func isUsed(_ device: Device) -> Bool {
        !access.tokens.platforms.senders(of: device.platform).isEmpty
            || deviceReports.forwardsRegistrations(app: device.app)
    }

    private func unregister(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        // A slip must not remove more than was meant: without a token it is all devices of the user.
        let parameters = try Self.parameters(request, known: ["user", "token", "unregister"])
        guard request.body.isEmpty else {
            throw Refusal(detail: "DELETE takes no body: give user or token in the query")
        }
        let (given, token) = (parameters["user"], parameters["token"])
        let scope = parameters["unregister"] ?? "all"
        guard ["all", "agent", "none"].contains(scope) else {
            throw Refusal(detail: "unregister must be all, agent or none")
        }
        let devices: [Device]
        switch (given, token) {
        case (nil, let token?):
            devices = try await owned(token, caller)
        case (_, nil) where given != nil || caller.user != nil:
            devices = try await registry.devices(
                app: caller.app, user: try user(given ?? "", caller)
            ).map(\.device)
        default: throw Refusal(detail: "give either user (logout) or token (one device)")
        }
        switch scope {
        case "none": return Self.json([.init("removed", .integer(0))])
        case "agent":
            // Proactive pushes go on; those of conversations with agents do not.
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
    /// Who names another user's phone holds it, and is told so. Addresses can be guessed: whether another user has one is nobody's
    /// business.
    package func owned(_ token: String, _ caller: DeviceCaller) async throws -> [Device] {
        let found = try await find(app: caller.app, token: token)
        guard let user = caller.user else { return found }
        let own = found.filter { $0.user == user }
        guard !own.isEmpty || found.allSatisfy(access.tokens.isAddress) else {
            throw Refusal(status: 403, detail: "this device is another user's")
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

    private func attributes(_ json: JSONValue) throws -> [Attribute] {
        guard let given = json["attributes"] else { return [] }
        guard case .object(let members) = given, members.count <= DeviceRules.attributesMax else {
            throw Refusal(
                detail: "\"attributes\" must be an object of at most "
                    + "\(DeviceRules.attributesMax) texts")
        }
        return try members.map { member in
            guard let value = member.value.string,
                max(value.utf8.count, member.key.utf8.count) <= DeviceRules.attributeBytesMax
            else {
                throw Refusal(
                    detail: "each attribute must be text of at most "
                        + "\(DeviceRules.attributeBytesMax) bytes")
            }
            guard DeviceRules.isPlain(member.key), DeviceRules.isPlain(value) else {
                throw Refusal(detail: "an attribute has a control character")
            }
            return Attribute(member.key, value)
        }
    }

    private func list(
        _ request: HTTPServerRequest, _ caller: DeviceCaller
    ) async throws -> HTTPServerAnswer {
        let given = try Self.parameters(request, known: ["user"])["user"] ?? ""
        guard !given.isEmpty || caller.user != nil else {
            throw Refusal(detail: "the parameter user is required")
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
            throw Refusal(detail: "\"online\" must be true or false")
        }
        let seconds = try presenceSeconds(json)
        let token = try text(json, "token", max: DeviceRules.tokenBytesMax, required: false)
        let count = try await registry.setPresence(
            app: caller.app, user: try user(try text(json, "user", required: false), caller),
            token: token.isEmpty ? nil : token,
            onlineForMs: isOnline ? seconds * 1_000 : 0)
        return Self.json([.init("updated", .integer(Int64(count)))])
    }

    /// An app that crashes cannot say that it is gone, so what it says holds for a while.
    private func presenceSeconds(_ json: JSONValue) throws -> UInt64 {
        guard let ttl = json["ttl"] else { return UInt64(DeviceRules.presenceSeconds) }
        let allowed = DeviceRules.presenceSecondsAllowed
        guard let seconds = ttl.integer, allowed.contains(seconds) else {
            throw Refusal(
                detail: "\"ttl\" must be seconds, \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return UInt64(seconds)
    }

    private static func parameters(
        _ request: HTTPServerRequest, known: [String]
    ) throws -> [String: String] {
        var found: [String: String] = [:]
        for pair in request.query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = PercentEncoding.decode(parts[0]) ?? ""
            guard known.contains(name) else {
                throw Refusal(
                    detail: "there is no parameter \"\(name.prefix(64))\""
                        + Suggestion.hint(for: name, among: known)
                        + "; known: " + known.joined(separator: ", "))
            }
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1]), !value.isEmpty
            else { throw Refusal(detail: "the parameter \(name) has no value") }
            guard found.updateValue(value, forKey: name) == nil else {
                throw Refusal(detail: "the parameter \(name) is given twice")
            }
        }
        return found
    }

    private static func json(_ entry: RegisteredDevice) -> JSONValue {
        let device = entry.device
        return .object([
            .init("token", .string(device.token)), .init("user", .string(device.user)),
            .init("platform", .string(device.platform)),
            .init("provider", .string(device.provider)), .init("locale", .string(device.locale)),
            .init("online", .bool(entry.isOnline)),
            .init(
                "attributes",
                .object(device.attributes.map { .init($0.key, .string($0.value)) })),
            .init("registered_unix_ms", .integer(Int64(clamping: device.registeredUnixMs))),
        ])
    }

    package static func json(_ members: [JSONValue.Member]) -> HTTPServerAnswer {
        .json(.object(members))
    }
}
