import Foundation
import Logging
import Testing

@testable import SignalboxObservability

@Suite struct LineLogTests {
    @Test(arguments: [LineLogHandler.Format.text, .json])
    func `a field without a value is left out`(format: LineLogHandler.Format) {
        let handler = LineLogHandler(label: "l", format: format, level: LogLevel(.info))
        let app = ""
        let event = LogEvent(
            level: .notice, message: "provider is back",
            metadata: ["app": "\(app)", "reason": "", "held_ms": "\(7)"], source: "", file: "",
            function: "", line: 0)
        let line = String(decoding: handler.line(event), as: UTF8.self)
        #expect(line.contains("provider is back") && line.contains("held_ms"))
        #expect(!line.contains("app") && !line.contains("reason"))
    }

    @Test func `a line has one logger`() throws {
        let handler = LineLogHandler(label: "signalbox", format: .json, level: LogLevel(.info))
        func line(_ metadata: Logger.Metadata) -> String {
            let event = LogEvent(
                level: .notice, message: "change", metadata: metadata, source: "", file: "",
                function: "", line: 0)
            return String(decoding: handler.line(event), as: UTF8.self)
        }
        let record = line(["logger": "audit", "status": "200"])
        #expect(record.contains(#""logger":"audit","message":"change","status":"200"}"#))
        #expect(record.components(separatedBy: #""logger""#).count == 2, "\(record)")
        #expect(line([:]).contains(#""logger":"signalbox","message":"change"}"#))
    }

    /// A plugin's words, and names of fields, begin no line of their own and drive no terminal.
    @Test func `words with control characters stay in their line`() {
        let handler = LineLogHandler(label: "l", format: .text, level: LogLevel(.info))
        let line = handler.line(
            LogEvent(
                level: .info, message: "x\n2026-01-01 NOTICE change\u{1B}[31m", error: nil,
                metadata: ["a\nb": "c\rd"], source: "", file: "", function: "", line: 0))
        let text = String(decoding: line, as: UTF8.self)
        #expect(text.utf8.filter { $0 < 0x20 } == [0x0A] && text.hasSuffix("\n"))
        #expect(text.contains(#""x\n2026-01-01 NOTICE change\u001b[31m" "a\nb"="c\rd""#), "\(text)")
    }

    /// As the commands escape them: `\u` and four digits, which JSON reads back.
    @Test(arguments: [LineLogHandler.Format.text, .json])
    func `text that turns around or breaks a line stays in its place`(
        format: LineLogHandler.Format
    ) throws {
        let odd = "\u{202E}\u{2066}\u{2028}\u{2029}\u{85}\u{200F}\u{61C}"
        let handler = LineLogHandler(label: "l", format: format, level: LogLevel(.info))
        let line = handler.line(
            LogEvent(
                level: .info, message: "said", error: nil, metadata: ["reason": "a\(odd)ü"],
                source: "", file: "", function: "", line: 0))
        let text = String(decoding: line, as: UTF8.self)
        #expect(!text.unicodeScalars.contains { odd.unicodeScalars.contains($0) })
        let shown = #""a\u202e\u2066\u2028\u2029\u0085\u200f\u061cü""#
        #expect(text.contains(format == .text ? "reason=\(shown)" : "\"reason\":\(shown)"))
    }
}
