internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP

/// `GET /devices?user=NAME` on the admin listener: a user's devices in all apps, without their tokens.
struct RegistryAdmin: Sendable {
    let registry: any DeviceRegistry

    var paths: [AdminPath] { [.show("/devices") { await answer($0.query) }] }

    private func answer(_ query: String) async -> HTTPServerAnswer {
        let parts = query.split(separator: "=", maxSplits: 1)
        guard parts.count == 2, parts[0] == "user", let user = PercentEncoding.decode(parts[1])
        else { return Problem(400, "give the user: /devices?user=NAME").answer }
        let key = UserKey(app: "", user: user)
        let found = await withCheckedContinuation { continuation in
            registry.devices(of: [key]) { continuation.resume(returning: $0) }
        }
        switch found {
        case .success(let users):
            return .json(.object([.init("devices", .array((users[key] ?? []).map(Self.json)))]))
        case .failure(let failure): return Problem.busy(failure.message)
        }
    }

    private static func json(_ entry: RegisteredDevice) -> JSONValue {
        let device = entry.device
        return .object([
            .init("app", .string(device.app)), .init("platform", .string(device.platform)),
            .init("provider", .string(device.provider)),
            .init("token", .string(DeadLetter.redacted(device.token))),
            .init("locale", .string(device.locale)),
            .init("registered_unix_ms", .integer(Int64(clamping: device.registeredUnixMs))),
            .init("online", .bool(entry.isOnline)),
            .init(
                "attributes",
                .object(device.attributes.map { .init($0.key, .string($0.value)) })),
        ])
    }
}
