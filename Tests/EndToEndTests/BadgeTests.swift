import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxJSON
import SignalboxSimulators
import Testing

@Suite struct BadgeTests {
    private static let count = "{ badge: count }"

    private static func badges(_ flow: RegistryRig, _ count: Int) async -> [String: [Int64]] {
        var out: [String: [Int64]] = [:]
        for push in await flow.taken(count) {
            out[push.token, default: []].append(push.aps["badge"]?.integer ?? -1)
        }
        return out.mapValues { $0.sorted() }
    }

    @Test func `all devices of a user show the same number, one more with each event`()
        async throws
    {
        let flow = try await RegistryRig(set: Self.count)
        for token in ["aa", "bb"] { try await flow.register("u", token) }
        try await flow.register("u", "fcm:1", platform: "android")
        try await flow.register("v", "cc")
        for users in [["u"], ["u", "v"], ["v"]] { try await flow.notify(users) }
        #expect(await Self.badges(flow, 6) == ["aa": [1, 2], "bb": [1, 2], "cc": [1, 2]])
        _ = await flow.rig.delivered(flow.rig.simulators.fcm, 2)
        let counts = flow.rig.simulators.fcm.received.compactMap {
            $0.body["message"]?["android"]?["notification"]?["notification_count"]?.integer
        }
        #expect(counts.sorted() == [1, 2])
        await flow.rig.end()
    }

    @Test func `an app sets the number, by user or by device`() async throws {
        let flow = try await RegistryRig(set: Self.count)
        try await flow.register("u", "aa")
        try await flow.notify(["u"])
        for (body, updated) in [
            (#"{"user":"u","badge":0}"#, Int64(1)), (#"{"token":"AA","badge":4}"#, 1),
            (#"{"user":"nobody","badge":4}"#, 0), (#"{"token":"unknown","badge":4}"#, 0),
        ] {
            let set = try await flow.call("PUT", "/v1/devices/badge", body)
            #expect(set.status == 200 && set.json["updated"]?.integer == updated, "\(body)")
        }
        try await flow.notify(["u"])
        #expect(await Self.badges(flow, 2) == ["aa": [1, 5]])
        for body in [
            #"{"user":"u"}"#, #"{"user":"u","badge":-1}"#, #"{"user":"u","badge":"1"}"#,
            #"{"user":"u","badge":2147483648}"#, #"{"badge":1}"#,
            #"{"user":"u","token":"aa","badge":1}"#,
        ] {
            let refused = try await flow.call("PUT", "/v1/devices/badge", body)
            #expect(refused.status == 400, "\(body)")
        }
        await flow.rig.end()
    }
}
