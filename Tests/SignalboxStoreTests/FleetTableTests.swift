import PluginRig
import SignalboxCore
import SignalboxStore
import Testing

@Suite struct FleetTableTests {
    @Test func `the backlog counts what is not settled, and knows the oldest`() async throws {
        let rig = try StoreTests.Rig()
        _ = await rig.append([StoreTests.item((1...3).map { StoreTests.delivery($0) })])
        rig.time.set(9_000)
        var lane = try #require(try await rig.store.fleet().backlogs.first)
        #expect(lane.lane == LaneKey(sender: "apns", app: ""))
        #expect(lane.waiting == 3 && lane.oldestDueUnixMs == 1_000)
        #expect(await rig.lease().deliveries.count == 3)
        _ = await rig.settle([
            .delivered(1), .delivered(2),
            .retry(3, afterMs: 5_000, StoreTests.attempt(), isFree: false),
        ])
        lane = try #require(try await rig.store.fleet().backlogs.first)
        #expect(lane.waiting == 1 && lane.oldestDueUnixMs == nil, "its time has not come")
        rig.time.set(8_000)
        let fleet = try await rig.store.fleet()
        lane = try #require(fleet.backlogs.first)
        #expect(lane.oldestDueUnixMs == 7_000 && fleet.lagMs(of: lane) == 1_000)
        #expect(fleet.members.isEmpty)
        await rig.store.close()
    }

    @Test func `lanes that have nothing left are forgotten at the next start`() async throws {
        let rig = try StoreTests.Rig()
        _ = await rig.append([
            StoreTests.item([StoreTests.delivery(1, sender: "fcm"), StoreTests.delivery(2)])
        ])
        _ = await rig.lease()
        _ = await rig.settle([.delivered(2)])
        #expect(try await rig.store.fleet().backlogs.map(\.lane.sender) == ["apns", "fcm"])
        await rig.store.close()
        let next = try StoreTests.Rig(folder: rig.folder)
        let backlogs = try await next.store.fleet().backlogs
        #expect(backlogs.map(\.lane.sender) == ["fcm"] && backlogs.first?.waiting == 1)
        await next.store.close()
    }
}
