import SignalboxCore
import Testing

@Suite struct HistoryTests {
    private static func event(_ id: UInt64) -> HistoryEvent {
        let given = Event(
            id: id, source: "zendesk", type: "ticket.replied", subject: "ticket/5", dedupe: "k\(id)"
        )
        var event = HistoryEvent(given, receivedUnixMs: 1_700_000_000_000)
        event.routes = [
            HistoryRoute("replies"), HistoryRoute("vip", unmet: "not true: data.vip exists"),
            HistoryRoute("mail", fault: "no template"),
        ]
        let device = Device(app: "a", platform: "ios", token: "0123456789", user: "kim")
        event.targets = [
            HistoryTarget(device, route: 0, skipped: "no_sender"),
            HistoryTarget(Device(user: "lee"), route: nil, skipped: "unrouted"),
        ]
        return event
    }

    private static func step(_ kind: HistoryStep.Kind) -> HistoryStep {
        var step = HistoryStep(kind, eventID: 7, delivery: 9, unixMs: 1_700_000_000_001)
        step.attempt = 2
        step.reason = "unreachable"
        step.code = 503
        step.detail = "no answer"
        step.providerID = "p"
        step.nextUnixMs = 1_700_000_001_000
        step.who = "berlin-1"
        return step
    }

    private static let delivery = Delivery(
        id: 9, eventID: 7, source: "zendesk", subject: "ticket/5", route: "replies", sender: "apns",
        stableID: "s", deadlineUnixMs: 0,
        content: SharedNotification(PushNotification(), eventType: "t", receivedUnixMs: 0),
        device: Device(app: "a", platform: "ios", token: "0123456789", user: "kim"))

    @Test func `what is packed is read again, and is found by each of its tags`() {
        var row = HistoryRow()
        HistoryPack(Self.event(1), tags: [.event(1), .user("kim")]).append(to: &row)
        HistoryPack(Self.event(2), tags: [.event(2)]).append(to: &row, isDuplicate: true)
        var steps = HistoryPack()
        for kind in HistoryStep.Kind.allCases { steps.add(Self.step(kind), of: Self.delivery) }
        steps.append(to: &row)
        var duplicate = Self.event(2)
        duplicate.isDuplicate = true
        #expect(row.read().events == [Self.event(1), duplicate])
        #expect(row.read().steps == HistoryStep.Kind.allCases.map(Self.step))
        for tag in [
            HistoryTag.event(1), .event(2), .event(7), .user("kim"), .token("0123456789"),
            .subject("ticket/5"),
        ] {
            #expect(row.has(anyOf: [.event(99), tag]))
        }
        for tag in [HistoryTag.event(3), .user("1"), .subject("kim"), .sourceID("kim")] {
            #expect(!row.has(anyOf: [tag]))
        }
    }

    @Test func `a whole token is in no record`() {
        var row = HistoryRow()
        HistoryPack(Self.event(1), tags: [.token("0123456789")]).append(to: &row)
        let bytes = String(decoding: row.records, as: UTF8.self)
        #expect(bytes.contains("6789") && !bytes.contains("0123456789"))
    }

    @Test func `damaged bytes end the reading, and nothing else`() {
        var row = HistoryRow()
        HistoryPack(Self.event(1), tags: [.event(1)]).append(to: &row)
        let whole = row.records
        HistoryPack(Self.event(2), tags: [.event(2)]).append(to: &row)
        for count in whole.count..<row.records.count {
            var cut = row
            cut.records = Array(row.records.prefix(count))
            #expect(cut.read().events == [Self.event(1)])
        }
        for place in row.records.indices {
            var broken = row
            broken.records[place] ^= 0xFF
            _ = broken.read()
        }
    }

    private static func has(_ word: String, _ value: JSONValue) -> JSONValue {
        .object([.init(word, value)])
    }

    @Test(arguments: [
        ([JSONValue.Member("type", .string("a"))], nil),
        ([.init("type", .string("b"))], "not true: type is \"b\""),
        (
            [.init("type", ["b", "c"])],
            "not true: type is \"b\" or \"c\""
        ),
        ([.init("n", has("prefix", .string("x")))], "not true: n begins with \"x\""),
        ([.init("n", has("exists", .bool(false)))], "not true: n is missing"),
        ([.init("m", has("exists", .bool(true)))], "not true: m exists"),
        ([.init("n", has("regex", .string("^z")))], "not true: n matches ^z"),
        ([.init("not", has("type", .string("a")))], "not true: not (type is \"a\")"),
        (
            [.init("any", [has("type", .string("b")), has("type", .string("c"))])],
            "not true: type is \"b\" or type is \"c\""
        ),
        (
            [.init("type", .string("a")), .init("data.n", .string("other"))],
            "not true: n is \"other\""
        ),
    ])
    func `a condition that is not met says which part, without values of the event`(
        condition: [JSONValue.Member], words: String?
    ) throws {
        var faults: [Diagnostic] = []
        let parsed = Condition.parse(value(.object(condition)), diagnostics: &faults)
        #expect(faults.isEmpty)
        let data: JSONValue = ["n": "secret"]
        let fields = EventFields(event: Event(type: "a"), data: data)
        #expect(parsed?.unmet(by: fields) == words)
    }
}
