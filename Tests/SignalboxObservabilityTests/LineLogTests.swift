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
}
