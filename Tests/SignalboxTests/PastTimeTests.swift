import Foundation
import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct PastTimeTests {
    /// 2026-01-02 09:00:00 in the time zone of the machine.
    private static func now() throws -> Date {
        let parts = DateComponents(year: 2026, month: 1, day: 2, hour: 9)
        return try #require(Calendar.current.date(from: parts))
    }

    @Test(arguments: [
        ("2h", 7_200.0), ("-2h", 7_200), ("30m", 1_800), ("1.5h", 5_400), ("2d", 172_800),
        ("10s", 10),
        ("08:30", 1_800), ("8:30", 1_800), ("08:30:30", 1_770),
        // The last half past ten was yesterday.
        ("10:30", 81_000), ("2026-01-02T08:00", 3_600), ("2026-01-01 09:00:00", 86_400),
    ])
    func `a time is taken as its writer means it`(text: String, secondsAgo: Double) throws {
        let now = try Self.now()
        let found = try PastTime.unixMs(text, now: now)
        #expect(Double(found) == (now.timeIntervalSince1970 - secondsAgo) * 1_000)
    }

    @Test func `Unix milliseconds and a time with its zone mean the same everywhere`() throws {
        #expect(try PastTime.unixMs("1767344400000") == 1_767_344_400_000)
        #expect(try PastTime.unixMs("2026-01-02T09:00:00Z") == 1_767_344_400_000)
        #expect(try PastTime.unixMs("2026-01-02T10:00:00+01:00") == 1_767_344_400_000)
    }

    @Test(arguments: ["1e30d", "infd", "1e300s"])
    func `longer ago than time goes back is the beginning of it`(text: String) throws {
        #expect(try PastTime.unixMs(text) == 0)
    }

    @Test(arguments: ["", "soon", "25:99", "12", "h", "2026-13-01", "--2h", "-", "nand"])
    func `what is no time is refused with examples`(text: String) {
        #expect {
            try PastTime.unixMs(text)
        } throws: {
            "\($0)".contains("\"\(text)\" is no time; write 10:30")
        }
    }
}
