import PluginRig
import SignalboxCore
import Testing

@testable import SignalboxPluginHost

/// Plugins/QuietHours.
@Suite struct QuietHoursTests {
    private static let minuteMs: UInt64 = 60_000
    /// 2026-01-15 00:00 UTC.
    private static let winter: UInt64 = 1_768_435_200_000

    private struct Rig {
        let rig: RoleRig
        let role: FilterRole

        init(_ more: String = "", from: String = "22:00", to: String = "07:00") async throws {
            rig = try await RoleRig(
                "QuietHours",
                config:
                    #"{"from":"\#(from)","to":"\#(to)","timezone":"Europe/Vienna"\#(more)}"#)
            role = try #require(FilterRole(rig.instance))
        }

        func filter(_ nowUnixMs: UInt64, _ zones: [String?] = [nil]) throws -> Filtered {
            let people = zones.enumerated().map { index, zone in
                Recipient(
                    device: Device(platform: "ios", token: "t\(index)"),
                    attributes: zone.map { [Attribute("timezone", $0)] } ?? [])
            }
            return try role.filter(
                Event(source: "z", type: "message"), recipients: people, route: "r",
                options: "{}", nowUnixMs: nowUnixMs
            ).get()
        }
    }

    @Test(arguments: [
        // Vienna is an hour ahead of UTC in winter.
        (at: 20 * 60 + 59, wait: 0), (at: 21 * 60, wait: 9 * 60), (at: 23 * 60, wait: 7 * 60),
        (at: 0, wait: 6 * 60), (at: 5 * 60 + 59, wait: 1), (at: 6 * 60, wait: 0),
        (at: 12 * 60, wait: 0),
    ])
    func `at night a push waits until the morning`(at: Int, wait: Int) async throws {
        let rig = try await Rig()
        let now = Self.winter + UInt64(at) * Self.minuteMs
        let made = try rig.filter(now)
        let end = now + UInt64(wait) * Self.minuteMs
        #expect(made.parts.map(\.notBeforeUnixMs) == (wait == 0 ? [] : [end]))
        #expect(made.parts.allSatisfy { $0.recipients == [0] && $0.data == nil })
        #expect(await rig.rig.end() == [])
    }

    @Test(arguments: [
        // The clocks skip 02:30 in New York: the quiet hours end when they change, at 03:00 EDT.
        (to: "02:30", now: 1_772_942_400_000, end: 1_772_953_200_000),
        (to: "02:00", now: 1_772_942_400_000, end: 1_772_953_200_000),
        (to: "03:00", now: 1_772_942_400_000, end: 1_772_953_200_000),
        (to: "03:30", now: 1_772_942_400_000, end: 1_772_955_000_000),
        (to: "01:30", now: 1_772_942_400_000, end: 1_772_951_400_000),
        // In November 01:30 comes twice: they end with the first one, and at 07:00 EST.
        (to: "01:30", now: 1_793_498_400_000, end: 1_793_511_000_000),
        (to: "07:00", now: 1_793_498_400_000, end: 1_793_534_400_000),
    ])
    func `an end that the clocks skip is the change of the clocks`(
        to: String, now: UInt64, end: UInt64
    ) async throws {
        let rig = try await Rig(to: to)
        let made = try rig.filter(now, ["America/New_York"])
        #expect(made.parts.map(\.notBeforeUnixMs) == [end])
        #expect(await rig.rig.end() == [])
    }

    @Test func `each recipient has its own night`() async throws {
        let rig = try await Rig()
        // 23:30 in Vienna, 17:30 in New York, 07:30 in Tokyo.
        let now = Self.winter + (22 * 60 + 30) * Self.minuteMs
        let made = try rig.filter(
            now, [nil, "America/New_York", "Asia/Tokyo", "Nowhere/At_All", "Australia/Perth"])
        let vienna = now + (7 * 60 + 30) * Self.minuteMs
        // 06:30 in Perth.
        let perth = now + 30 * Self.minuteMs
        #expect(made.parts.map(\.recipients) == [[4], [0, 3]])
        #expect(made.parts.map(\.notBeforeUnixMs) == [perth, vienna])
        #expect(await rig.rig.end() == [])
    }

    @Test func `a night in which the clocks change ends at the hour that it names`() async throws {
        let rig = try await Rig()
        // 2026-03-28 23:00 in Vienna; at 02:00 the clocks go to 03:00, so it is 7 hours to 07:00.
        let now: UInt64 = 1_774_735_200_000
        let made = try rig.filter(now)
        #expect(made.parts.map(\.notBeforeUnixMs) == [now + 7 * 60 * Self.minuteMs])
        // 2026-10-24 23:00: an hour comes twice.
        let autumn: UInt64 = 1_792_875_600_000
        let late = try rig.filter(autumn)
        #expect(late.parts.map(\.notBeforeUnixMs) == [autumn + 9 * 60 * Self.minuteMs])
        #expect(await rig.rig.end() == [])
    }

    @Test func `quiet hours of one day, and drops in place of waits`() async throws {
        let rig = try await Rig(#","then":"drop""#, from: "12:00", to: "13:00")
        let noon = Self.winter + (11 * 60 + 30) * Self.minuteMs
        let made = try rig.filter(noon, [nil, "Asia/Tokyo"])
        #expect(made.parts.isEmpty)
        #expect(made.drops == [FanOut.Skip(recipient: 0, reason: "quiet_hours")])
        #expect(await rig.rig.end() == [])
    }
}
