import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// What filters make of an event on its routes.
@Suite struct FilteredEventTests {
    private func recipient(_ token: String) -> Recipient {
        Recipient(device: Device(app: "a", platform: "ios", token: token))
    }

    /// An event for `t0`, `t1` and `t2` on a route that puts its field `x` into the title.
    private func routed(expiresMs: UInt64 = 10_000) throws -> RoutedEvent {
        var set = ContentTemplates()
        set.fields = [(field: .title, template: try Template.parse("{{ x }}"))]
        var rules = DeliveryRules()
        rules.expiresMs = expiresMs
        let route = Route(
            name: "r", sources: ["chat"], builder: "b", set: set, senders: ["ios": "push"],
            rules: rules)
        let data = #"{"x":"of the source"}"#
        var event = Event(
            id: 7, source: "chat", type: "message", data: data,
            recipients: (0..<3).map { recipient("t\($0)") })
        event.parsed = Self.parsed("of the source")
        return RoutedEvent(
            event, router: Router(routes: [route]), receivedUnixMs: 1_000, keepsHistory: true)
    }

    private func build(
        _ questions: [RoutedEvent.Question], _ routed: inout RoutedEvent
    ) -> StoreEntry.Item {
        var ids = DeliveryIDs(last: 0, stableIDs: StableIDs(seed: (1, 2)))
        for question in questions {
            let targets = question.recipients.indices.map { BuiltContent.Target(recipient: $0) }
            let content = BuiltContent(notification: PushNotification(), targets: targets)
            routed.built([content], for: question, ids: &ids)
        }
        return routed.item(dedupeMs: 0)
    }

    private func other(_ text: String) -> JSONText {
        let json = #"{"x":"\#(text)"}"#
        return JSONText(json, parsed: Self.parsed(text))
    }

    private static func parsed(_ text: String) -> JSONValue {
        ["x": .string(text)]
    }

    @Test func `each part is built by itself, and whom no part names goes on as it is`() throws {
        var routed = try routed()
        let next = routed.next()
        let asked = try #require(next)
        var made = Filtered()
        made.parts = [.init(recipients: [2], data: other("of the filter"))]
        made.drops = [FanOut.Skip(recipient: 0, reason: "muted")]
        let (questions, drops) = asked.filtered(made)
        #expect(questions.map { $0.recipients.map(\.device.token) } == [["t2"], ["t1"]])
        routed.dropped(drops, of: asked)
        let item = build(questions, &routed)
        #expect(item.deliveries.map(\.device.token) == ["t2", "t1"])
        #expect(
            item.deliveries.map(\.content.notification.title) == ["of the filter", "of the source"])
        #expect(item.waitsMs.isEmpty)
        #expect(item.event.data.contains("of the source"))
        #expect(routed.result == "accepted")
    }

    @Test func `a wait delays the push and its expiry, and no later filter shortens it`() throws {
        var routed = try routed(expiresMs: 10_000)
        let next = routed.next()
        let asked = try #require(next)
        var first = Filtered()
        first.parts = [.init(recipients: [0, 1], notBeforeUnixMs: 61_000)]
        var second = Filtered()
        second.parts = [.init(recipients: [0], notBeforeUnixMs: 31_000)]
        let parts = asked.filtered(first).next
        let questions = parts.flatMap { $0.recipients.count == 2 ? $0.filtered(second).next : [$0] }
        let item = build(questions, &routed)
        let waits = item.deliveries.map { [$0.device.token: item.waitsMs[$0.id] ?? 0] }
        #expect(waits == [["t0": 60_000], ["t1": 60_000], ["t2": 0]])
        #expect(item.deliveries.map(\.deadlineUnixMs) == [71_000, 71_000, 11_000])
    }

    @Test func `a time that is over is no wait`() throws {
        var routed = try routed()
        let next = routed.next()
        let asked = try #require(next)
        var made = Filtered()
        made.parts = [.init(recipients: [0], notBeforeUnixMs: 999)]
        let item = build(asked.filtered(made).next, &routed)
        #expect(item.waitsMs.isEmpty)
        #expect(Set(item.deliveries.map(\.deadlineUnixMs)) == [11_000])
    }

    @Test func `an event whose recipients are all left out is unreached`() throws {
        var routed = try routed()
        let next = routed.next()
        let asked = try #require(next)
        var made = Filtered()
        made.drops = (0..<3).map { FanOut.Skip(recipient: $0, reason: "muted") }
        let (questions, drops) = asked.filtered(made)
        #expect(questions.isEmpty)
        routed.dropped(drops, of: asked)
        #expect(routed.next() == nil)
        #expect(routed.result == "unreached")
    }

    @Test func `a lane takes over at once only what does not wait`() throws {
        var routed = try routed()
        let next = routed.next()
        let asked = try #require(next)
        var made = Filtered()
        made.parts = [.init(recipients: [1], notBeforeUnixMs: 61_000)]
        let item = build(asked.filtered(made).next, &routed)
        let due = item.deliveries.filter { item.waitsMs[$0.id] == nil }
        #expect(due.map(\.device.token) == ["t0", "t2"])
    }
}
