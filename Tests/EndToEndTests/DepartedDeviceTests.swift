import PluginRig
import Signalbox
import SignalboxCore
import SignalboxSimulators
import Testing

/// A push that waits does not go to a phone that has logged out, or that somebody else has by now.
@Suite(.timeLimit(.minutes(5))) struct DepartedDeviceTests {
    private static let cancelled = #"result="cancelled",reason="user_left"} "#

    @Test func `what waited is sent to those who still have their device`() async throws {
        let clock = StillClock()
        let rig = try await RegistryRig(clock: { clock.now })
        for (user, token) in [("ann", "aaaaaaaa1"), ("bob", "bbbbbbbb2"), ("eve", "eeeeeeee3")] {
            try await rig.register(user, token)
        }
        _ = try await PauseTests.order(rig.rig, "/pause", #"{"sender":"apns"}"#)
        try await rig.notify(["ann", "bob", "eve"])
        await PauseTests.waitFor(waiting: 3, rig.rig.gateway)
        // Ann logs out; Bob's phone is Carl's; Eve logs out and in again.
        for token in ["aaaaaaaa1", "eeeeeeee3"] {
            #expect(try await rig.call("DELETE", "/v1/devices?token=\(token)").status == 200)
        }
        try await rig.register("carl", "bbbbbbbb2")
        try await rig.register("eve", "eeeeeeee3")
        clock.advance(ms: 6_000)
        _ = try await PauseTests.order(rig.rig, "/resume", #"{"sender":"apns"}"#)
        await PauseTests.waitFor(waiting: 0, rig.rig.gateway)
        #expect(await rig.taken(1).map(\.token) == ["eeeeeeee3"])
        #expect(rig.rig.simulators.apns.received.count == 1)
        #expect(rig.rig.gateway.metricsText.contains(Self.cancelled + "2"))
        let trace = try await rig.rig.admin("/trace?user=ann").body
        #expect(String(decoding: trace, as: UTF8.self).contains("user_left"))
        await rig.rig.end()
    }
}
