import SignalboxCore
import SignalboxJSON
import Testing

@testable import Signalbox
@testable import SignalboxAdmin

@Suite struct FleetTextTests {
    private static func fleet() -> Fleet {
        var fleet = Fleet(nowUnixMs: 100_000_000)
        for (name, config, agoMs, leased) in [
            ("a", "0a1b2c3d", 2_000, 3), ("long-name", "99999999", 90_000, 7),
            ("c", "", 90_000, 0), ("d", "99999999", 90_000, 0),
        ] {
            fleet.members.append(
                Fleet.Member(
                    name: name, version: "1.0", configuration: config,
                    startedUnixMs: 100_000_000 - 3_725_000,
                    heartbeatUnixMs: 100_000_000 - UInt64(agoMs), isStopped: name == "d",
                    leased: leased))
        }
        var busy = Fleet.Backlog(LaneKey(sender: "apns", app: "com.example"))
        busy.waiting = 12
        busy.leased = 10
        busy.oldestDueUnixMs = 100_000_000 - 65_000
        fleet.backlogs = [busy, Fleet.Backlog(LaneKey(sender: "fcm", app: ""))]
        return fleet
    }

    @Test func `a gateway without heartbeats is silent while it holds something, then gone`() {
        let fleet = Self.fleet()
        #expect(fleet.members.map { fleet.state(of: $0) } == [.live, .silent, .gone, .stopped])
        #expect(fleet.configurationCount == 1, "of those that live")
    }

    @Test func `the fleet is two tables, without lanes that have nothing to do`() {
        let lines = FleetText(Self.fleet().json).text.split(separator: "\n").map { String($0) }
        #expect(
            lines == [
                "GATEWAY    VERSION  CONFIG    STATE    UP FOR     HEARTBEAT       LEASED",
                "a          1.0      0a1b2c3d  live     1 h 2 min  2 s ago         3",
                "long-name  1.0      99999999  silent   1 h 2 min  1 min 30 s ago  7",
                "c          1.0      -         gone     1 h 2 min  1 min 30 s ago  0",
                "d          1.0      99999999  stopped  1 h 2 min  1 min 30 s ago  0",
                "LANE  APP          WAITING  LEASED  LAG",
                "apns  com.example  12       10      1 min 5 s",
            ])
    }

    @Test func `a paused sender is marked, with who paused it`() throws {
        let paused = try JSONValue.parse(
            #"{"paused":[{"sender":"apns","by":"anna","address":"10.0.0.7","reason":"wrong text","since_unix_ms":1}]}"#
        )
        let text = FleetText(Self.fleet().json.merging(paused)).text
        #expect(text.contains("apns  com.example  12       10      1 min 5 s, paused\n"))
        #expect(text.contains("\nsender apns is paused since "))
        #expect(text.hasSuffix(" by anna (10.0.0.7): wrong text"))
    }

    @Test func `an empty fleet says so`() {
        #expect(
            FleetText(Fleet(nowUnixMs: 1).json).text == "no gateway runs\n\nnothing waits")
    }
}
