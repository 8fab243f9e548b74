import Foundation
import GRDB
import SignalboxCore
import SignalboxStore
import Synchronization
import Testing

/// The device registry in its database.
@Suite struct RegistryStoreTests {
    typealias Rig = StoreTests.Rig

    @Test func `one token of two senders is two devices`() async throws {
        let rig = try Rig()
        let mail = Device(app: "a", platform: "email", token: "v@example.com", user: "victim")
        var phone = mail
        (phone.platform, phone.user) = ("android", "eve")
        for device in [mail, phone] { _ = try await rig.store.register(device, isUnique: true) }
        #expect(try await rig.store.devices(app: "a", user: "victim").count == 1)
        try await withCheckedThrowingContinuation { continuation in
            rig.store.learn(
                .dead(app: "a", token: "v@example.com", among: ["android"], sinceUnixMs: 0),
                reports: { _, _ in [] }, done: { continuation.resume(with: $0) })
        }
        #expect(try await rig.store.devices(app: "a", user: "victim").count == 1)
        #expect(try await rig.store.devices(app: "a", user: "eve").isEmpty)
        await rig.store.close()
    }

    @Test func `a token that died stays if one of its users registered it since`() async throws {
        let rig = try Rig()
        for (user, at) in [("u", UInt64(1_000)), ("v", 3_000)] {
            let device = Device(app: "a", platform: "ios", token: "aa", user: user)
            rig.time.set(at)
            _ = try await rig.store.register(device, isUnique: false)
        }
        func die(_ since: UInt64) async -> Invalidation? {
            await withCheckedContinuation { continuation in
                let result = Mutex<Invalidation?>(nil)
                rig.store.learn(
                    .dead(app: "a", token: "AA", sinceUnixMs: since),
                    reports: { said, _ in
                        result.withLock { $0 = said }
                        return []
                    },
                    done: { _ in continuation.resume(returning: result.withLock { $0 }) })
            }
        }
        #expect(await die(2_000) == .kept)
        #expect(try rig.count("device") == 2)
        #expect(await die(4_000) == .removed)
        #expect(try rig.count("device") == 0)
        await rig.store.close()
    }
}
