import SignalboxCore
import SignalboxJSON
import Testing

@Suite struct JSONValueTests {
    @Test(arguments: [
        #"{"a":1,"b":[true,false,null],"c":{"d":"é\n"}}"#, "[]", "{}", "\"x\"", "-7", "null",
        "9223372036854775807", "18446744073709551615", "1.5", #"{"a":{},"b":[]}"#,
    ])
    func `text comes back as it went in`(text: String) throws {
        #expect(try JSONValue.parse(text).text == text)
    }

    @Test func `kinds and members are read`() throws {
        let value = try JSONValue.parse(
            #" { "s" : "x\u00e9\ud83d\ude00" , "i" : -5 , "n" : 2.5, "s" : "second" } "#)
        #expect(value["s"]?.string == "xé😀")
        #expect(value["i"]?.integer == -5)
        #expect(value["n"] == .number("2.5"))
        #expect(value["missing"] == nil)
    }

    @Test(arguments: [
        "", " ", "{", "[1,", "{\"a\"}", "{\"a\":}", "nul", "tru", "01", "1e999", "+1", "'a'",
        "\"a", "\"\u{1}\"", #""\x""#, #""\ud800\x""#, #""\uzzzz""#, #""\ud8""#, "{\"a\":1}}",
        "[1] [2]",
        "\u{feff}", "\u{feff}\u{feff}{}",
        "123456789012345678901234567890", "{\"a\":\u{0}1}", "{a:1}", "[,]",
        String(repeating: "[", count: 65) + String(repeating: "]", count: 65),
    ])
    func `hostile text is refused in fixed words`(text: String) {
        let fault = #expect(throws: JSONFault.self) { try JSONValue.parse(text) }
        #expect(JSONValueTests.words.contains(fault?.message ?? ""))
    }

    @Test(arguments: [
        (#""\ud83d""#, "\u{fffd}"), (#""See you \ud83d""#, "See you \u{fffd}"),
        (#""\ud83d\ude00 \ude00""#, "😀 \u{fffd}"), (#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"), (#""\\ud83d \uD83D""#, #"\ud83d "# + "\u{fffd}"),
        (#""\ud83d\u0041""#, "\u{fffd}A"), (#""\ud83d\n""#, "\u{fffd}\n"),
        (#""\ud83d\\\ude00""#, "\u{fffd}\\\u{fffd}"),
    ])
    func `half of a surrogate pair is one unreadable character`(text: String, read: String) throws {
        #expect(try JSONValue.parse(text).string == read)
        let document = try JSONDocument.parse(text)
        #expect(document.mended == JSONValue.string(read).text)
    }

    @Test func `sound text is kept as it is`() throws {
        #expect(try JSONDocument.parse(#"["\ud83d\ude00", "\\ud83d"]"#).mended == nil)
    }

    @Test func `a byte order mark in front is skipped`() throws {
        #expect(try JSONValue.parse("\u{feff}{\"a\":1}").text == #"{"a":1}"#)
    }

    static let words: Set = [
        "it is nested too deeply", "a string is malformed", "it is not valid UTF-8",
        "a number is malformed or too large", "a string is not closed", "it is empty",
        "a string holds a control character that is not escaped", "its syntax is wrong",
    ]

    @Test(arguments: [65, 100_000])
    func `a document is refused for its depth, not for its end`(levels: Int) {
        // Closed at every level, so that only the depth is wrong.
        let object = String(repeating: "{\"a\":", count: levels) + "1"
        for text in [
            object + String(repeating: "}", count: levels),
            String(repeating: "[", count: levels) + String(repeating: "]", count: levels),
        ] {
            let fault = #expect(throws: JSONFault.self) { try JSONValue.parse(text) }
            #expect(fault?.message == "it is nested too deeply")
        }
    }

    @Test func `sixty-four levels are read`() throws {
        let nested = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
        #expect(try JSONValue.parse(nested).text == nested)
    }

    @Test func `bad UTF-8 is refused and big strings are not`() throws {
        #expect(throws: JSONFault.self) { try JSONValue.parse([0x22, 0xff, 0x22]) }
        let long = String(repeating: "ä", count: 1_000_000)
        #expect(try JSONValue.parse("\"\(long)\"").string?.count == 1_000_000)
    }

    @Test func `a NUL in a string is a character like others`() throws {
        #expect(try JSONValue.parse(#""a\u0000b""#).string == "a\0b")
    }
}
