import SignalboxObservability
import Testing

@Suite struct PlainTextTests {
    @Test(arguments: [
        ("a\nb\tc", "a\nb\tc"), ("\u{1B}[2J", "\\u001b[2J"), ("\r\n", "\\u000d\n"),
        ("\u{9B}31m", "\\u009b31m"), ("x\u{202E}y", "x\\u202ey"), ("\u{200F}z", "\\u200fz"),
        ("\u{2028}\u{61C}", "\\u2028\\u061c"), ("👨‍👩‍👧 عربي ไทย", "👨‍👩‍👧 عربي ไทย"),
    ])
    func `what steers a terminal is written as in JSON`(given: String, shown: String) {
        #expect(PlainText.lines(given) == shown)
    }
}
