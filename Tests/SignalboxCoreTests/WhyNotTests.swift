import SignalboxCore
import Testing

@Suite struct WhyNotTests {
    let rig = ConditionTests()

    func lines(_ members: [JSONValue.Member]) throws -> [String] {
        try rig.parse(members).whyNot(rig.fields).map(\.text)
    }

    @Test func `a condition that holds has no reason`() throws {
        #expect(try lines([.init("type", .string("ticket.replied"))]) == [])
        #expect(try lines([.init("not", ["ticket_id": "6"])]) == [])
    }

    @Test func `each part that fails is named with the value found`() throws {
        let wanted = JSONValue.array([.string("a"), .string("b")])
        #expect(
            try lines([
                .init("type", .string("ticket.closed")), .init("ticket_id", wanted),
                .init("urgent", .bool(true)),
                .init("channel.kind", ["prefix": "vip"]),
                .init("missing", ["exists": true]),
            ]) == [
                #"type is "ticket.replied", wanted "ticket.closed""#,
                #"ticket_id is "5", wanted one of "a", "b""#,
                #"channel.kind is "support_vip", wanted a text that begins with "vip""#,
                "missing is missing, wanted any value",
            ])
    }

    @Test func `what must not be is named, too`() throws {
        #expect(
            try lines([
                .init("ticket_id", ["not": ["5", "6"]])
            ]) == [#"ticket_id is "5", wanted none of "5", "6""#])
        #expect(
            try lines([
                .init(
                    "not",
                    ["channel.kind": ["regex": "vip$"]]
                )
            ]) == [#"channel.kind is "support_vip", wanted no match of vip$"#])
    }

    @Test func `of a choice, every part is named`() throws {
        let choice = JSONValue.array([
            ["ticket_id": "6"],
            ["missing": "x", "urgent": true],
        ])
        #expect(
            try lines([.init("any", choice)]) == [
                #"none of these: ticket_id is "5", wanted "6"; missing is missing, wanted "x""#
            ])
    }

    @Test func `a long value is cut`() throws {
        let event = Event(type: String(repeating: "x", count: 200))
        let condition = try rig.parse([.init("type", .string("y"))])
        let fields = EventFields(event: event, data: JSONValue.object([]))
        #expect(condition.whyNot(fields).first?.text.count == 101)
    }

    @Test(arguments: ["type", "data.type", "ticket_id", "a.0.b", "recipient.user", "data.source"])
    func `a path is written as it was read`(_ text: String) throws {
        #expect(try #require(FieldPath(text)).text == text)
    }
}
