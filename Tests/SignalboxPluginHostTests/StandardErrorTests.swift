import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// What an isolated plugin writes to standard error becomes lines of the log, and not too many.
@Suite struct StandardErrorTests {
    @Test func `pieces become lines, and a long one loses its end`() {
        var lines = ErrorLines()
        var told: [String] = []
        for piece in ["one\ntw", "o\n\n", "thr", "ee"] {
            lines.take(Array(piece.utf8)[...], nowMs: 1) { told.append($0) }
        }
        #expect(told == ["one", "two"])
        let long = [UInt8](repeating: 0x61, count: 70_000) + [0x0A]
        lines.take(long[...], nowMs: 1) { told.append($0) }
        lines.end { told.append($0) }
        #expect(told.count == 3)
        #expect(told[2].hasPrefix("threea") && told[2].utf8.count == StandardError.lineBytesMax)
    }

    @Test func `what is too much in an interval is counted, and the next one is whole again`() {
        var lines = ErrorLines()
        var told: [String] = []
        let many = Array(String(repeating: "x\n", count: StandardError.linesMax + 7).utf8)
        lines.take(many[...], nowMs: 5) { told.append($0) }
        #expect(told.count == StandardError.linesMax && lines.isFull)
        lines.take(Array("late\n".utf8)[...], nowMs: 5 + LineQuota.intervalMs) {
            told.append($0)
        }
        #expect(told.suffix(2) == ["(7 more lines were left out)", "late"] && !lines.isFull)
    }

    @Test func `a plugin's last words are in the log, under its name`() async throws {
        let services = RigServices()
        await #expect(throws: PluginFault.self) {
            _ = try await PluginRig.isolated(
                try await IsolatedRoleTests.library.value,
                config: ["create": "chatter"], services: services)
        }
        await services.waitFor { services.lines.contains { $0.contains("last words") } }
        let lines = services.lines.filter { $0.contains("stream=stderr") }
        #expect(lines.count == StandardError.linesMax + 2, "\(lines)")
        #expect(lines.first?.contains("warn line 0 of the plugin") == true)
        #expect(lines.suffix(2).first?.contains("(50 more lines were left out)") == true)
        #expect(lines.last?.contains("its last words") == true)
    }
}
