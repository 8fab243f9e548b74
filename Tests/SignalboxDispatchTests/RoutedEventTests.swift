import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Every step of an event through its routes, without plugins and stores.
@Suite struct RoutedEventTests {
    private let phone = Recipient(
        device: Device(app: "a", platform: "ios", token: "t1", user: "ann"))
    private let tablet = Recipient(
        device: Device(app: "a", platform: "android", token: "t2", user: "ben"))
    private let nobody = Recipient(device: Device(app: "a", platform: "ios", user: "cleo"))

    private func route(_ name: String, _ platforms: String...) -> Route {
        Route(
            name: name, sources: ["chat"], builder: "builder of \(name)",
            senders: Dictionary(uniqueKeysWithValues: platforms.map { ($0, "push") }))
    }

    private func routed(_ recipients: [Recipient], _ routes: Route...) -> RoutedEvent {
        let event = Event(
            id: 7, source: "chat", type: "message", dedupe: "key", recipients: recipients)
        return RoutedEvent(event, router: Router(routes: routes), receivedUnixMs: 1_000)
    }

    /// One content for this many recipients.
    private func content(_ count: Int, _ edit: (inout PushNotification) -> Void = { _ in })
        -> [BuiltContent]
    {
        var note = PushNotification()
        note.title = "hello"
        edit(&note)
        return [
            BuiltContent(notification: note, targets: (0..<count).map { .init(recipient: $0) })
        ]
    }

    private func ids(_ last: UInt64 = 0) -> DeliveryIDs {
        DeliveryIDs(last: last, stableIDs: StableIDs(seed: (1, 2)))
    }

    /// The next question, and whom a route left out since the last: `route recipient reason`.
    private func next(_ routed: inout RoutedEvent) -> (RoutedEvent.Question?, skips: [String]) {
        let before = routed.notices.count
        let question = routed.next()
        return (question, Self.leftOut(routed.notices[before...]))
    }

    private static func leftOut(_ notices: some Sequence<RouteNotice>) -> [String] {
        notices.flatMap { notice -> [String] in
            guard case .leftOut(let skips, let route) = notice else { return [] }
            return skips.map { "\(route) \($0.recipient) \($0.reason)" }
        }
    }

    private func failure(_ question: RoutedEvent.Question) -> StageFailure {
        StageFailure(
            route: question.route, role: "builder", name: "b",
            fault: StageFault("no template", .giveUp))
    }

    @Test func `the builder of each route is asked once, in the order of the file`() {
        var routed = routed([phone, tablet], route("both", "ios", "android"), route("ios", "ios"))
        let (first, none) = next(&routed)
        #expect(first?.route == 0)
        #expect(first?.recipients.map(\.device.token) == ["t1", "t2"])
        #expect(none.isEmpty)
        let (second, skips) = next(&routed)
        #expect(second?.recipients.map(\.device.token) == ["t1"])
        #expect(skips == ["1 1 no_sender"])
        #expect(next(&routed).0 == nil)
    }

    @Test func `deliveries of all routes are one item`() throws {
        var routed = routed([phone, tablet], route("both", "ios", "android"), route("ios", "ios"))
        var ids = ids()
        while let question = next(&routed).0 {
            routed.built(content(question.recipients.count), for: question, ids: &ids)
        }
        #expect(Self.leftOut(routed.notices) == ["1 1 no_sender"])
        let item = routed.item(dedupeMs: 5)
        #expect(item.deliveries.map(\.id) == [1, 2, 3])
        #expect(item.deliveries.map(\.route) == ["both", "both", "ios"])
        #expect(item.deliveries.map(\.device.token) == ["t1", "t2", "t1"])
        #expect(item.event.dedupe == "key")
        #expect(item.dedupeMs == 5)
        #expect(routed.result == "accepted")
    }

    @Test func `pushes with a mark are noted, each for its user once or for its token`() {
        var marking = route("told", "ios", "android")
        marking.marksOpens = true
        let nameless = Recipient(device: Device(app: "a", platform: "ios", token: "t3"))
        var second = phone
        second.device.token = "t4"
        var routed = routed([phone, second, nameless], marking, route("quiet", "ios"))
        var ids = ids()
        while let question = next(&routed).0 {
            routed.built(content(question.recipients.count), for: question, ids: &ids)
        }
        let mark = OpenMark(eventID: 7, route: "told")
        #expect(
            Set(routed.item(dedupeMs: 5).shown) == [
                OpenClaim(mark, of: .user(UserKey(app: "a", user: "ann"))),
                OpenClaim(mark, of: .token("t3")),
            ])
        #expect(routed.item(dedupeMs: 5).shown.count == 2)
    }

    @Test func `a route without recipients asks no builder and says who was left out`() {
        var routed = routed([nobody], route("ios", "ios"))
        let (question, skips) = next(&routed)
        #expect(question == nil)
        #expect(skips == ["0 0 unknown_user"])
        #expect(routed.result == "unreached")
        // The user may have a device when it comes again.
        #expect(routed.item(dedupeMs: 5).event.dedupe.isEmpty)
    }

    @Test(arguments: [
        ("control_character", Device(platform: "ios", user: "u\u{1B}[2J")),
        ("control_character", Device(app: "a\n", platform: "ios", token: "t")),
        ("name_too_long", Device(user: String(repeating: "u", count: 257))),
        ("name_too_long", Device(platform: String(repeating: "p", count: 257), token: "t")),
        ("token_too_long", Device(platform: "ios", token: String(repeating: "t", count: 4_097))),
    ])
    func `a recipient that cannot be used is left out on each route, and the others are not`(
        reason: String, device: Device
    ) {
        var event = Event(
            id: 7, source: "chat", type: "message",
            recipients: [Recipient(device: device), phone])
        #expect(event.needsMending)
        event.mendRecipients()
        #expect(!event.needsMending && event.recipientFault == nil)
        var routed = RoutedEvent(
            event, router: Router(routes: [route("ios", "ios"), route("too", "ios")]),
            receivedUnixMs: 1_000, keepsHistory: true)
        for place in 0..<2 {
            let (question, skips) = next(&routed)
            #expect(question?.recipients.map(\.device.token) == ["t1"])
            #expect(skips == ["\(place) 0 \(reason)"])
        }
        // Nothing of it is kept.
        #expect(NamedUsers(in: [event], []).keys.isEmpty)
        let item = routed.item(dedupeMs: 5)
        #expect(item.event.recipients[0].device == Device())
    }

    @Test func `an event for nobody who can be used says why`() {
        var event = Event(
            type: "message",
            recipients: [
                Recipient(device: Device(user: "\0")), Recipient(device: Device(user: "\t")),
            ])
        event.mendRecipients()
        #expect(event.recipientFault == .controlCharacter)
        #expect(Event(type: "message").recipientFault == nil)
    }

    @Test func `an event that no route takes is kept as unrouted`() {
        var routed = routed([phone])
        #expect(next(&routed).0 == nil)
        #expect(!routed.isRouted)
        #expect(routed.result == "unrouted")
        let item = routed.item(dedupeMs: 5)
        #expect(item.deliveries.isEmpty)
        // A route may take it when it comes again.
        #expect(item.event.dedupe.isEmpty)
    }

    @Test func `who is left out after building is named by the place in the event`() throws {
        var routed = routed([nobody, tablet, phone], route("ios", "ios"))
        let question = try #require(next(&routed).0)
        var ids = ids()
        // Without the name of a notification nothing can be withdrawn, so nothing is sent.
        let before = routed.notices.count
        routed.built(content(1) { $0.isWithdrawn = true }, for: question, ids: &ids)
        let late = Self.leftOut(routed.notices[before...])
        #expect(late == ["0 2 withdraw_without_collapse"])
    }

    @Test func `an event whose only builder failed is lost`() throws {
        var routed = routed([phone], route("ios", "ios"))
        routed.failed(failure(try #require(next(&routed).0)))
        #expect(routed.isLost)
        #expect(routed.result == nil)
    }

    @Test func `an event that one builder failed on keeps the others' deliveries and no key`()
        throws
    {
        var routed = routed([phone], route("one", "ios"), route("two", "ios"))
        routed.failed(failure(try #require(next(&routed).0)))
        let question = try #require(next(&routed).0)
        var ids = ids()
        routed.built(content(1), for: question, ids: &ids)
        #expect(!routed.isLost)
        #expect(routed.result == "accepted")
        let item = routed.item(dedupeMs: 5)
        #expect(item.deliveries.map(\.route) == ["two"])
        // A repeated event must not count as a duplicate.
        #expect(item.event.dedupe.isEmpty)
    }

    @Test func `badges count the deliveries of counting routes by their places in the item`() throws
    {
        var counting = route("two", "ios")
        counting.set.countsBadge = true
        var routed = routed([phone], route("one", "ios"), counting)
        var ids = ids()
        while let question = next(&routed).0 {
            routed.built(content(1), for: question, ids: &ids)
        }
        let steps = routed.item(dedupeMs: 0).badges
        #expect(steps.map(\.user) == [UserKey(app: "a", user: "ann")])
        #expect(steps.map(\.places) == [[1]])
    }
}
