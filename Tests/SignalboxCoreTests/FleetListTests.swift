import SignalboxCore
import Testing

/// Apps come from events: a sender that invents thousands must not fill the page or a scrape with them.
@Suite struct FleetListTests {
    private static func backlog(_ number: Int, waiting: Int) -> Fleet.Backlog {
        var backlog = Fleet.Backlog(LaneKey(sender: "fcm", app: "app\(number)", kind: .push))
        backlog.waiting = waiting
        backlog.oldestDueUnixMs = waiting > 0 ? UInt64(number) : nil
        return backlog
    }

    @Test func `a few lanes are all listed, and of many those that have something`() {
        var fleet = Fleet(nowUnixMs: 1)
        let few = (0..<Fleet.lanesMax).map { Self.backlog($0, waiting: 0) }
        fleet.set(few)
        #expect(fleet.backlogs.count == Fleet.lanesMax)
        fleet.set(few + [Self.backlog(5_000, waiting: 3)])
        #expect(fleet.backlogs.map(\.lane.app) == ["app5000"])
    }

    @Test func `of too many with something the longest are listed, and the sum of the rest`() {
        var fleet = Fleet(nowUnixMs: 1)
        fleet.set((1...3_000).map { Self.backlog($0, waiting: $0) })
        #expect(fleet.backlogs.count == Fleet.lanesMax + 1)
        #expect(fleet.backlogs.reduce(0) { $0 + $1.waiting } == 3_000 * 3_001 / 2)
        let other = fleet.backlogs.first { $0.lane.app == "other" }
        #expect(other?.waiting == 2_000 * 2_001 / 2)
        #expect(other?.oldestDueUnixMs == 1)
    }
}
