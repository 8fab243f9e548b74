import PluginRig
import Signalbox
import SignalboxCore
import SignalboxSimulators
import Testing

/// A push that waits does not go to a phone that has logged out, or that somebody else has by now.
@Suite(.timeLimit(.minutes(5))) struct DepartedDeviceTests {
    private static let cancelled = #"result="cancelled",reason="user_left"} "#

    private static func waitFor(waiting count: Int, _ rig: RegistryRig) async {
        while rig.rig.gateway.waitingCount != count { await Task.yield() }
    }

    /// Three users have a push that waits, since their sender is paused.
    private static func waiting(_ clock: StillClock, gateway: String = "") async throws
        -> RegistryRig
    {
        let rig = try await RegistryRig(gateway: gateway, clock: { clock.now })
        for (user, token) in [("ann", "aaaaaaaa1"), ("bob", "bbbbbbbb2"), ("eve", "eeeeeeee3")] {
            try await rig.register(user, token)
        }
        _ = try await PauseTests.order(rig.rig, "/pause", #"{"sender":"apns"}"#)
        try await rig.notify(["ann", "bob", "eve"])
        await waitFor(waiting: 3, rig)
        return rig
    }

    private static func resume(_ rig: RegistryRig) async throws {
        _ = try await PauseTests.order(rig.rig, "/resume", #"{"sender":"apns"}"#)
        await waitFor(waiting: 0, rig)
    }

    private static func change(_ rig: RegistryRig) async throws {
        // Ann logs out; Bob's phone is Carl's; Eve logs out and in again.
        for token in ["aaaaaaaa1", "eeeeeeee3"] {
            #expect(try await rig.call("DELETE", "/v1/devices?token=\(token)").status == 200)
        }
        try await rig.register("carl", "bbbbbbbb2")
        try await rig.register("eve", "eeeeeeee3")
    }

    @Test func `what waited is sent to those who still have their device`() async throws {
        let clock = StillClock()
        let rig = try await Self.waiting(clock)
        try await Self.change(rig)
        clock.advance(ms: 6_000)
        try await Self.resume(rig)
        #expect(await rig.taken(1).map(\.token) == ["eeeeeeee3"])
        #expect(rig.rig.simulators.apns.received.count == 1)
        #expect(rig.rig.gateway.metricsText.contains(Self.cancelled + "2"))
        let trace = try await rig.rig.admin("/trace?user=ann").body
        #expect(String(decoding: trace, as: UTF8.self).contains("user_left"))
        await rig.rig.end()
    }

    @Test func `of phones that were registered at one time, one that changed hands gets nothing`()
        async throws
    {
        let clock = StillClock()
        let rig = try await RegistryRig(clock: { clock.now })
        for token in ["aaaaaaaa1", "aaaaaaaa2"] { try await rig.register("ann", token) }
        _ = try await PauseTests.order(rig.rig, "/pause", #"{"sender":"apns"}"#)
        try await rig.notify(["ann"])
        await Self.waitFor(waiting: 2, rig)
        try await rig.register("bob", "aaaaaaaa2")
        clock.advance(ms: 6_000)
        try await Self.resume(rig)
        #expect(await rig.taken(1).map(\.token) == ["aaaaaaaa1"])
        #expect(rig.rig.gateway.metricsText.contains(Self.cancelled + "1"))
        await rig.rig.end()
    }

    @Test func `a dead letter is not replayed to a phone that has changed hands`() async throws {
        let rig = try await RegistryRig()
        try await rig.register("bob", "bbbbbbbb2")
        try await rig.rig.simulators.apns.take(
            .fail(tokens: [], status: 400, reason: "BadCollapseId", times: 1))
        try await rig.notify(["bob"])
        while !rig.rig.gateway.metricsText.contains(#"reason="BadCollapseId"} 1"#) {
            await Task.yield()
        }
        try await rig.register("carl", "bbbbbbbb2")
        let replayed = try await PauseTests.order(
            rig.rig, "/dead/replay", #"{"reason":"BadCollapseId"}"#)
        #expect(replayed.json["count"]?.integer == 1)
        while !rig.rig.gateway.metricsText.contains(Self.cancelled + "1") { await Task.yield() }
        #expect(!rig.rig.simulators.apns.received.contains { $0.status == 200 })
        await rig.rig.end()
    }

    @Test func `a retry is not sent to a phone that has changed hands`() async throws {
        let clock = StillClock()
        let rig = try await RegistryRig(clock: { clock.now })
        try await rig.register("ann", "aaaaaaaa1")
        try await rig.rig.simulators.apns.take(
            .fail(tokens: ["aaaaaaaa1"], status: 500, reason: "InternalServerError", times: 1))
        try await rig.notify(["ann"])
        _ = await rig.rig.simulators.apns.wait(for: 1)
        try await rig.register("bob", "aaaaaaaa1")
        while !rig.rig.gateway.metricsText.contains(#"result="retried""#) { await Task.yield() }
        clock.advance(ms: 3_600_000)
        await Self.waitFor(waiting: 0, rig)
        #expect(rig.rig.simulators.apns.received.count == 1)
        #expect(rig.rig.gateway.metricsText.contains(Self.cancelled + "1"))
        await rig.rig.end()
    }

    @Test func `a fleet looks into the registry that it shares`() async throws {
        let database = try await PostgresServer.shared().database()
        let clock = StillClock()
        let rig = try await Self.waiting(
            clock, gateway: ", name: one, store: { postgres: \"\(database.address)\" }")
        try await Self.change(rig)
        clock.advance(ms: 6_000)
        try await Self.resume(rig)
        #expect(await rig.taken(1).map(\.token) == ["eeeeeeee3"])
        #expect(rig.rig.simulators.apns.received.count == 1)
        await rig.rig.end()
        try await database.remove()
    }
}
