internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP

/// `GET /devices?user=NAME` on the admin listener: a user's devices in all apps, without their tokens.
struct RegistryAdmin: Sendable {
    let registry: any DeviceRegistry

    var paths: [AdminPath] { [AdminPath(.devices) { input, _ in try await answer(input) }] }

    private func answer(_ input: AdminInput) async throws -> HTTPServerAnswer {
        guard let user = input.text("user") else {
            throw Problem(400, "give the user: /devices?user=NAME")
        }
        let found = try await registry.devices(app: "", user: user)
        return .json(["devices": .array(found.map(Self.json))])
    }

    private static func json(_ entry: RegisteredDevice) -> JSONValue {
        let device = entry.device
        return [
            "app": .string(device.app), "platform": .string(device.platform),
            "provider": .string(device.provider),
            "token": .string(DeadLetter.redacted(device.token)), "locale": .string(device.locale),
            "registered_unix_ms": .integer(Int64(clamping: device.registeredUnixMs)),
            "online": .bool(entry.isOnline),
            "attributes": .object(device.attributes.map { .init($0.key, .string($0.value)) }),
        ]
    }
}
