import SignalboxCore
import Testing

/// Makes a value as a configuration file would.
func value(_ json: JSONValue, line: Int = 1) -> ConfigValue {
    let place = SourcePosition(file: "g.yaml", line: line, column: 1)
    let kind: ConfigValue.Kind =
        switch json {
        case .null: .null
        case .bool(let flag): .bool(flag)
        case .integer(let number): .integer(number)
        case .number(let text): .number(Double(text) ?? 0)
        case .string(let text): .string(text)
        case .array(let items): .list(items.map { value($0) })
        case .object(let members):
            .map(
                members.map {
                    ConfigValue.Entry(key: $0.key, keyPosition: place, value: value($0.value))
                })
        }
    return ConfigValue(kind, at: place)
}

@Suite struct ConditionTests {
    let fields = EventFields(
        event: Event(source: "zendesk", type: "ticket.replied"),
        data: JSONValue.object([
            .init("ticket_id", .string("5")), .init("urgent", .bool(true)), .init("gone", .null),
            .init("channel", ["kind": "support_vip"]),
        ]))

    func parse(_ members: [JSONValue.Member]) throws -> Condition {
        var faults: [Diagnostic] = []
        let condition = Condition.parse(value(.object(members)), diagnostics: &faults)
        #expect(faults.isEmpty)
        return try #require(condition)
    }

    @Test(arguments: [
        (JSONValue.Member("type", .string("ticket.replied")), true),
        (.init("type", .string("ticket.closed")), false),
        (.init("ticket_id", .integer(5)), true), (.init("urgent", .bool(true)), true),
        (.init("type", ["a", "ticket.replied"]), true),
        (.init("type", ["one_of": ["a"]]), false),
        (.init("channel.kind", ["prefix": "support"]), true),
        (.init("channel.kind", ["regex": "_vip$"]), true),
        (.init("channel.kind", ["regex": "^vip"]), false),
        (.init("gone", ["exists": false]), true),
        (.init("ticket_id", ["exists": true]), true),
        (.init("missing", .string("")), false),
        (.init("ticket_id", ["not": "5"]), false),
        (.init("not", ["ticket_id": "6"]), true),
        (
            .init(
                "any",
                [["ticket_id": "6"], ["urgent": true]]), true
        ),
        (
            .init(
                "all",
                [["ticket_id": "6"], ["urgent": true]]), false
        ),
    ])
    func `fields are tested`(member: JSONValue.Member, wanted: Bool) throws {
        #expect(try parse([member]).holds(for: fields) == wanted)
    }

    @Test func `all members of a map must hold`() throws {
        let both = try parse([
            .init("type", .string("ticket.replied")), .init("ticket_id", .string("6")),
        ])
        #expect(!both.holds(for: fields))
        #expect(try parse([]).holds(for: fields))
    }

    @Test(arguments: [
        (JSONValue.Member("type", ["prefx": "x"]), "unknown-operator"),
        (.init("type", ["regex": "("]), "bad-regex"),
        (.init("type", ["exists": "yes"]), "wrong-type"),
        (.init("type", ["one_of": "x"]), "wrong-type"),
        (.init("a..b", .string("x")), "bad-field"),
        (.init("recipient.user", .string("x")), "bad-field"),
        (.init("any", .array([])), "wrong-type"), (.init("type", .null), "wrong-type"),
    ])
    func `faults have a code`(member: JSONValue.Member, code: String) {
        var faults: [Diagnostic] = []
        #expect(Condition.parse(value(.object([member])), diagnostics: &faults) == nil)
        #expect(faults.map(\.code) == [code])
    }

    @Test func `contradictions are impossible`() throws {
        let contradiction = try parse([
            .init(
                "all",
                [["type": "a"], ["type": "b"]])
        ])
        #expect(contradiction.isImpossible)
        #expect(try parse([.init("type", .array([]))]).isImpossible)
        #expect(try !parse([.init("type", .string("a"))]).isImpossible)
    }
}
