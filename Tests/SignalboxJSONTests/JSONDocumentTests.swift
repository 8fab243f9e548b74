import SignalboxCore
import SignalboxJSON
import Testing

@Suite struct JSONDocumentTests {
    @Test(arguments: [
        #"{"a":1,"b":[true,false,null],"c":{"d":"é\n"}}"#, "[]", "{}", "\"x\"", "\"\"", "-7",
        "null",
        "9223372036854775807", "18446744073709551615", "1.5", #"{"a":{},"b":[]}"#,
        #"["\u0000\"",34,18446744073709551615,0.25,{"":""}]"#,
    ])
    func `a document outlives its parser`(text: String) throws {
        let document = try JSONDocument.parse(text)
        #expect(document.value(at: [])?.text == (try JSONValue.parse(text)).text)
    }

    @Test func `one parser makes many documents`() throws {
        let parser = try #require(JSONParser())
        let texts = (0..<50).map { number in
            "{\"n\":\(number),\"s\":\"\(String(repeating: "x", count: number))\"}"
        }
        let documents = try texts.map { text in
            let bytes = Array(text.utf8)
            return try bytes.withUnsafeBufferPointer { try JSONDocument($0, with: parser) }
        }
        #expect(documents.map { $0.value(at: [])?.text } == texts)
    }

    /// `make sanitize` sees what becomes of the missing address.
    @Test func `a buffer without an address is empty text`() throws {
        let parser = try #require(JSONParser())
        let nothing = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        let fault = #expect(throws: JSONFault.self) { try JSONDocument(nothing, with: parser) }
        #expect(fault?.message == "it is empty")
    }

    @Test func `names lead to a value, and numbers to elements`() throws {
        let text = #"{"a":{"b":[{"c":"x"},2]},"1":"one","n":null,"~/":true}"#
        let (document, value) = (try JSONDocument.parse(text), try JSONValue.parse(text))
        let paths = [
            ["a", "b", "0", "c"], ["a", "b", "1"], ["a", "b", "2"], ["a", "b", "-1"], ["1"], ["n"],
            ["~/"], ["missing"], ["a", "b", "c"], ["1", "0"], ["a"], [],
        ]
        for path in paths { #expect(document.value(at: path) == value.value(at: path)) }
        #expect(document.value(at: ["a", "b", "0", "c"]) == .string("x"))
    }

    @Test(arguments: ["", "{", "{\"a\":\u{0}1}", "1e999"])
    func `malformed text makes no document`(text: String) {
        #expect(throws: JSONFault.self) { try JSONDocument.parse(text) }
        #expect(JSONText(parsing: text).parsed == nil)
    }
}
