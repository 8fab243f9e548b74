internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON

/// The device registry's API on the public listener, under `/v1/devices`; docs/openapi.json describes
/// it.
struct DevicesService: Sendable {
    static let prefix = "/v1/devices"
    private static let methods = [
        "/v1/devices": ["GET", "POST", "DELETE"], "/v1/devices/presence": ["PUT"],
    ]

    let clients: [DeviceClient]
    let registry: any GatewayStore
    let feedback: Feedback
    let clock: @Sendable () -> UInt64

    /// Whether a path is this service's.
    static func serves(_ path: String) -> Bool {
        path == prefix || path.hasPrefix(prefix + "/")
    }

    func refusal(method: String, path: String) -> HTTPServerAnswer? {
        // Without clients nobody may use it, so it is not there.
        guard !clients.isEmpty, let allowed = Self.methods[path] else {
            return Problem(404, "nothing is served under this path").answer
        }
        if allowed.contains(method) { return nil }
        return Problem.methodNotAllowed(allowed)
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
        guard let client = client(of: request) else {
            var answer = Problem(401, "send a bearer token of gateway.yaml's devices.clients")
                .answer
            answer.headers.append(Attribute("www-authenticate", "Bearer"))
            return answer
        }
        let scope =
            request.path.hasSuffix("/presence")
            ? "presence" : request.method == "GET" ? "read" : "write"
        guard client.scopes.contains(scope) else {
            return Problem(403, "this token has not the scope \(scope)").answer
        }
        do {
            switch (request.method, request.path) {
            case ("GET", _): return try await list(request, client)
            case ("POST", _): return try await register(request, client)
            case ("DELETE", _): return try await unregister(request, client)
            default: return try await presence(request, client)
            }
        } catch let problem as Refusal {
            return Problem(400, problem.detail).answer
        } catch {
            return Problem.busy("the registry cannot be reached")
        }
    }

    private struct Refusal: Error {
        var detail: String
    }

    /// The client whose token the request bears; every one is compared, in constant time.
    private func client(of request: HTTPServerRequest) -> DeviceClient? {
        guard let field = request.headers.first(where: { $0.key == "authorization" })?.value,
            field.lowercased().hasPrefix("bearer ")
        else { return nil }
        let given = Digest.sha256(Array(field.dropFirst(7).utf8))
        var found: DeviceClient?
        for client in clients
        where HMACDigest.isEqual(given, Digest.sha256(Array(client.token.utf8))) {
            found = client
        }
        return found
    }

    private func object(_ request: HTTPServerRequest) throws -> JSONValue {
        guard let json = try? JSONValue.parse(request.body), case .object = json else {
            throw Refusal(detail: "the body must be a JSON object")
        }
        return json
    }

    private func text(
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
        return text
    }

    private func register(
        _ request: HTTPServerRequest, _ client: DeviceClient
    ) async throws -> HTTPServerAnswer {
        let json = try object(request)
        var device = Device(app: client.app)
        device.user = try text(json, "user")
        device.token = try text(json, "token", max: DeviceRules.tokenBytesMax)
        device.platform = try text(json, "platform", max: 32)
        device.provider = try text(json, "provider", max: 32, required: false)
        device.locale = try text(json, "locale", max: 64, required: false)
        device.sourceToken = try text(
            json, "source_token", max: DeviceRules.tokenBytesMax, required: false)
        device.attributes = try attributes(json)
        let evicted = try await registry.register(device, nowUnixMs: clock())
        try await tell([DeviceChange(kind: .registered, device: device, timeUnixMs: clock())])
        return Self.json([.init("evicted", .integer(Int64(evicted)))])
    }

    private func unregister(
        _ request: HTTPServerRequest, _ client: DeviceClient
    ) async throws -> HTTPServerAnswer {
        let (user, token) = (Self.parameter("user", request), Self.parameter("token", request))
        let removed: Int
        switch (user, token) {
        case (let user?, nil):
            let devices = try await registry.devices(app: client.app, user: user).map(\.device)
            // Told first: whoever asks again after a failure finds the devices still there.
            try await tell(devices.map { change(.unregistered, $0) })
            removed = try await registry.unregister(app: client.app, user: user)
        case (nil, let token?):
            if let device = try await find(app: client.app, token: token) {
                try await tell([change(.unregistered, device)])
            }
            removed = try await registry.unregister(app: client.app, token: token)
        default: throw Refusal(detail: "give either user (logout) or token (one device)")
        }
        return Self.json([.init("removed", .integer(Int64(removed)))])
    }

    private func change(_ kind: DeviceChange.Kind, _ device: Device) -> DeviceChange {
        DeviceChange(kind: kind, device: device, timeUnixMs: clock())
    }

    private func find(app: String, token: String) async throws -> Device? {
        try await withCheckedThrowingContinuation { continuation in
            registry.find(app: app, token: token) { result in
                continuation.resume(with: result.map { $0?.device })
            }
        }
    }

    /// Lets those know who are told of the app's devices; when this returns it is on disk.
    private func tell(_ changes: [DeviceChange]) async throws {
        let items = feedback.items(for: changes, from: "")
        guard !items.isEmpty else { return }
        let entry = StoreEntry(items: items, receivedUnixMs: clock(), dedupeMs: 0)
        let answer = await withCheckedContinuation { continuation in
            registry.append(entry) { continuation.resume(returning: $0) }
        }
        guard case .committed = answer else { throw StoreFailure(message: "not committed") }
        feedback.committed(items)
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
            return Attribute(member.key, value)
        }
    }

    private func list(
        _ request: HTTPServerRequest, _ client: DeviceClient
    ) async throws -> HTTPServerAnswer {
        guard let user = Self.parameter("user", request) else {
            throw Refusal(detail: "the parameter user is required")
        }
        let devices = try await registry.devices(app: client.app, user: user)
        return Self.json([.init("devices", .array(devices.map(Self.json)))])
    }

    private func presence(
        _ request: HTTPServerRequest, _ client: DeviceClient
    ) async throws -> HTTPServerAnswer {
        let json = try object(request)
        guard case .bool(let isOnline) = json["online"] else {
            throw Refusal(detail: "\"online\" must be true or false")
        }
        let token = try text(json, "token", max: DeviceRules.tokenBytesMax, required: false)
        let count = try await registry.setPresence(
            app: client.app, user: try text(json, "user"), token: token.isEmpty ? nil : token,
            isOnline: isOnline, nowUnixMs: clock())
        return Self.json([.init("updated", .integer(Int64(count)))])
    }

    private static func parameter(_ name: String, _ request: HTTPServerRequest) -> String? {
        for pair in request.query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            if parts.count == 2, parts[0] == name {
                return PathTable<Int>.decoded(parts[1]).flatMap { $0.isEmpty ? nil : $0 }
            }
        }
        return nil
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

    private static func json(_ members: [JSONValue.Member]) -> HTTPServerAnswer {
        .json(.object(members))
    }
}
