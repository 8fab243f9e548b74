import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxPostgres

/// Devices of more users than one statement asks for.
@Suite struct LookUpTests {
    @Test func `many users are looked up at once, each in the app that was asked for`() async throws
    {
        let rig = try await DatabaseRig()
        let store = try await rig.open()
        let names = (0..<700).map { "u\($0)" }
        let devices = names.flatMap { name in
            ["a", "b"].map {
                Device(app: $0, platform: "ios", token: "\(name)-\($0)", user: name)
            }
        }
        try await withCheckedThrowingContinuation { continuation in
            store.change(
                devices.map { DeviceChange(kind: .registered, device: $0) }, reports: []
            ) { continuation.resume(with: $0) }
        }
        let users =
            names.map { UserKey(app: "a", user: $0) } + [UserKey(app: "", user: "u7")]
            + [UserKey(app: "a", user: "nobody")]
        let found = try await withCheckedThrowingContinuation { continuation in
            store.devices(of: users) { continuation.resume(with: $0) }
        }
        #expect(found.count == users.count)
        let tokens = found.map { Set($0.map(\.device.token)) }
        #expect(tokens.dropLast(2) == names.map { ["\($0)-a"] }[...])
        #expect(tokens.suffix(2) == [["u7-a", "u7-b"], []])
        try await rig.end()
    }
}
