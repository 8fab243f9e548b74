import CSignalbox
import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

@Suite struct GivenJSONTests {
    private func document(_ text: sbx_str) throws -> UnsafeRawPointer? {
        let scope = try #require(CallScope.current)
        return try scope.parse(text.buffer).document
    }

    @Test func `data that was parsed when its event was emitted is not parsed by a builder`() throws
    {
        let parsed = try JSONDocument.parse(#"{"a":"x"}"#)
        var event = Event(type: "t", data: #"{"a":"x"}"#)
        event.parsed = parsed
        try CallScope.run { arena in
            let given = arena.event(event).pointee.data
            #expect(try document(given) == parsed.root.document)
            // A copy counts as the same text; other text is the plugin's own.
            #expect(try document(arena.text(event.data)) == parsed.root.document)
            #expect(try document(arena.text(#"{"a":"z"}"#)) != parsed.root.document)
            event.data = #"{"a":"y"}"#
            #expect(event.parsed == nil)
            let changed = arena.event(event).pointee.data
            let scope = try #require(CallScope.current)
            let root = try scope.parse(changed.buffer)
            #expect(JSONValue(root).text == event.data)
        }
    }

    @Test func `a content is parsed once for all calls and senders`() throws {
        var note = PushNotification()
        note.data = #"{"a":1}"#
        note.overrides = [.init(family: "apns", json: #"{"b":2}"#), .init(family: "x", json: "{")]
        let content = SharedNotification(note, receivedUnixMs: 0)
        let seen = try (0..<2).map { _ in
            try CallScope.run { arena in
                let given = arena.notification(content).pointee
                let (good, bad) = (given.overrides[0].value, given.overrides[1].value)
                #expect(throws: JSONFault.self) { try document(bad) }
                return [try document(given.data), try document(good)]
            }
        }
        #expect(seen[0] == seen[1] && seen[0][0] != seen[0][1])
    }

    @Test func `values of kept documents end with the call, and give their text within it`() throws
    {
        let parsed = try JSONDocument.parse(#"{ "a" : [ 1, "x" ], "b" : { } }"#)
        let root = sbx_json_value(
            document: parsed.root.document, position: parsed.root.position)
        let table = JSONService.table
        var text = sbx_str()
        try CallScope.run { arena in
            #expect(table.text(root, &text) == SBX_E_INVALID)
            arena.given.add(arena.text("{}"), .parsed(parsed))
            _ = try document(arena.text("{}"))
            #expect(table.text(root, &text) == SBX_OK)
            var other = sbx_str()
            var member = sbx_json_value()
            #expect(table.at(root, arena.text("/a"), &member) == SBX_OK)
            #expect(table.text(member, &other) == SBX_OK)
            #expect(text.text == #"{"a":[1,"x"],"b":{}}"# && other.text == #"[1,"x"]"#)
        }
        CallScope.run { _ in #expect(table.text(root, &text) == SBX_E_INVALID) }
    }
}
