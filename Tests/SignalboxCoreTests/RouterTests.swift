import SignalboxCore
import Testing

@Suite struct RouterTests {
    func condition(_ types: [String]) -> Condition {
        var faults: [Diagnostic] = []
        let list = JSONValue.array(types.map(JSONValue.string))
        return Condition.parse(value(["type": list]), diagnostics: &faults)
            ?? .all([])
    }

    func fields(_ source: String, _ type: String) -> EventFields {
        EventFields(event: Event(source: source, type: type), data: JSONValue.object([]))
    }

    @Test func `every matching route fires, in the order of the file`() {
        let router = Router(routes: [
            Route(name: "all", sources: ["a"], builder: "b", senders: [:]),
            Route(
                name: "x", sources: ["a", "b"], condition: condition(["x"]), builder: "b",
                senders: [:]),
            Route(
                name: "y", sources: ["a"], condition: condition(["y", "x"]), builder: "b",
                senders: [:]),
        ])
        #expect(router.matches(fields("a", "x")) == [0, 1, 2])
        #expect(router.matches(fields("a", "y")) == [0, 2])
        #expect(router.matches(fields("b", "x")) == [1])
        #expect(router.matches(fields("b", "z")) == [])
        #expect(router.matches(fields("c", "x")) == [])
    }

    @Test func `types that are not asked for cost nothing`() {
        // 10,000 routes for other types, of which only one is a candidate.
        let routes = (0..<10_000).map {
            Route(
                name: "r\($0)", sources: ["a"], condition: condition(["t\($0)"]), builder: "b",
                senders: [:])
        }
        #expect(Router(routes: routes).matches(fields("a", "t7777")) == [7777])
    }
}

@Suite struct FanOutTests {
    /// What a route makes of a notification for one iPhone.
    private func built(
        set change: (inout ContentTemplates) -> Void = { _ in }, badge: Int32? = nil,
        _ fill: (inout PushNotification) -> Void
    ) -> PushNotification? {
        var note = PushNotification()
        note.sound = "default"
        fill(&note)
        var route = Route(name: "r", sources: ["z"], builder: "b", senders: ["ios": "apns"])
        change(&route.set)
        let content = BuiltContent(
            notification: note, targets: [.init(recipient: 0, badge: badge)])
        return run(route, [content]).deliveries.first?.content.notification
    }

    @Test func `a notification without a text is silent, unless somebody asks for more`() throws {
        let badge = try #require(built { $0.badge = 7 })
        #expect(badge.sound == "" && badge.isDataOnly && !badge.isSilent && badge.badge == 7)
        let own = try #require(built(badge: 3) { _ in })
        #expect(own.sound == "" && own.isDataOnly && !own.isSilent)
        let counted = try #require(
            built(set: { $0.countsBadge = true }) { $0.data = #"{"k":"v"}"# })
        #expect(counted.sound == "" && !counted.isSilent)
        let data = try #require(built { $0.data = #"{"k":"v"}"# })
        #expect(data.sound == "" && data.isSilent && data.data == #"{"k":"v"}"#)
        // It has a text, a picture, a type of its own, a text by override, or a sound of the route.
        let asked: [(inout PushNotification) -> Void] = [
            { $0.body = "b" }, { $0.imageURL = "https://example.com/a.png" },
            { $0.pushType = "alert" },
            {
                $0.overrides = [
                    PayloadOverride(family: "apns", json: #"{"aps":{"alert":{"loc-key":"K"}}}"#)
                ]
            },
            { $0.overrides = [PayloadOverride(family: "localized", json: #"{"body":{}}"#)] },
        ]
        for fill in asked {
            let note = try #require(
                built {
                    $0.badge = 7
                    $0.data = #"{"k":"v"}"#
                    fill(&$0)
                })
            #expect(note.sound == "default" && !note.isSilent && !note.isDataOnly)
        }
        let ping = try Template.parse("ping.aiff")
        let rung = try #require(built(set: { $0.fields = [(.sound, ping)] }) { $0.badge = 7 })
        #expect(rung.sound == "ping.aiff" && !rung.isDataOnly)
    }

    let recipients = [
        Recipient(device: Device(platform: "ios", token: "i1", locale: "de")),
        Recipient(device: Device(platform: "android", token: "a1", locale: "en")),
        Recipient(device: Device(platform: "windows", token: "w1")),
        Recipient(device: Device(platform: "ios", user: "u")),
        Recipient(device: Device(platform: "ios")),
    ]
    let fields = EventFields(
        event: Event(id: 9, source: "z", type: "t"),
        data: JSONValue.object([.init("n", .string("7"))]))

    func run(_ route: Route, _ contents: [BuiltContent]) -> FanOut {
        var fanOut = FanOut()
        var ids = DeliveryIDs(last: 100, stableIDs: StableIDs(seed: (1, 2)))
        let chosen = fanOut.selectRecipients(of: route, from: recipients)
        fanOut.add(
            contents, route: route, fields: fields,
            recipients: chosen.map { recipients[$0] }, receivedUnixMs: 1_000, ids: &ids)
        return fanOut
    }

    @Test func `devices go to the sender of their platform and share one content`() throws {
        var route = Route(
            name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns", "android": "fcm"])
        route.rules.expiresMs = 500
        route.rules.collapse = try Template.parse("c{{ n }}")
        route.set.fields = [(.title, try Template.parse("T{{ n }}"))]
        route.set.data = [("k", try Template.parse("{{ n }}"))]
        var note = PushNotification()
        note.body = "B"
        note.data = "{\"old\":1}"
        let made = run(
            route,
            [
                BuiltContent(
                    notification: note,
                    targets: [.init(recipient: 0, badge: 4), .init(recipient: 1)],
                    data: JSONValue.object([.init("old", .integer(1))]))
            ])
        #expect(
            made.skips.map { "\($0.recipient) \($0.reason)" } == [
                "2 no_sender", "3 unknown_user", "4 no_token",
            ])
        #expect(made.deliveries.map(\.sender) == ["apns", "fcm"])
        #expect(made.deliveries.map(\.badge) == [4, nil])
        #expect(made.deliveries.map(\.id) == [101, 102])
        #expect(made.deliveries[0].content === made.deliveries[1].content)
        #expect(made.deliveries[0].deadlineUnixMs == 1_500)
        #expect(made.deliveries[0].stableID != made.deliveries[1].stableID)
        let content = made.deliveries[0].content.notification
        #expect(content.title == "T7")
        #expect(content.body == "B")
        #expect(content.collapse == "c7")
        #expect(content.priority == .normal)
        #expect(content.data == #"{"old":1,"k":"7"}"#)
    }

    @Test
    func `a device that is named twice gets one push, and two users of one device each theirs`() {
        func device(_ token: String, _ user: String, app: String = "") -> Recipient {
            Recipient(device: Device(app: app, platform: "ios", token: token, user: user))
        }
        let route = Route(name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns"])
        var fanOut = FanOut()
        let chosen = fanOut.selectRecipients(
            of: route,
            from: [
                device("0a", ""), device("0a", "u", app: "a"), device("0a", "u", app: "a"),
                device("0b", "u"), device("0b", "v"), device("0c", "u", app: "a"),
                device("0c", "u", app: "b"),
            ])
        #expect(chosen == [1, 3, 4, 5, 6])
        #expect(
            fanOut.skips.map { "\($0.recipient) \($0.reason)" } == ["0 duplicate", "2 duplicate"])
    }

    @Test(arguments: [1, 40])
    func `users and platforms that share a token get one push each, named repeatedly`(times: Int) {
        // The sign for kelvin is another name than "K", whatever Unicode says.
        let named = [
            ("u", "ios"), ("v", "ios"), ("K", "ios"), ("\u{212A}", "ios"), ("u", "android"),
        ]
        let recipients = (0..<times).flatMap { _ in named }.map { user, platform in
            Recipient(device: Device(platform: platform, token: "0a", user: user))
        }
        let route = Route(
            name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns", "android": "fcm"])
        var fanOut = FanOut()
        #expect(fanOut.selectRecipients(of: route, from: recipients) == Array(0..<5))
        #expect(fanOut.skips.map(\.recipient) == Array(5..<5 * times))
    }

    @Test func `texts that differ by recipient are kept at a bounded length`() throws {
        var route = Route(name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns"])
        route.set.fields = [(.title, try Template.parse("{{ recipient.locale }}"))]
        var note = PushNotification()
        note.body = String(repeating: "é", count: 20_000)
        let built = BuiltContent(notification: note, targets: [.init(recipient: 0)])
        let made = run(route, [built]).deliveries.first?.content.notification
        #expect(made?.title == "de")
        #expect(made?.body.hasSuffix("é…") == true && made?.body.utf8.count == 16_383)
    }

    @Test func `a notification that shows and tells nothing is left out`() throws {
        func reasons(
            _ route: Route, badge: Int32? = nil,
            _ change: (inout PushNotification) -> Void = { _ in }
        ) -> [String] {
            var note = PushNotification()
            note.sound = "default"
            note.data = "{}"
            change(&note)
            let content = BuiltContent(
                notification: note, targets: [.init(recipient: 0, badge: badge)])
            let made = run(route, [content])
            #expect(made.deliveries.isEmpty == made.skips.contains { $0.reason == "empty" })
            return made.skips.map(\.reason).filter { $0 == "empty" }
        }
        var route = Route(name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns"])
        route.marksOpens = true
        #expect(reasons(route) == ["empty"])
        #expect(reasons(route, badge: 0).isEmpty)
        for change: (inout PushNotification) -> Void in [
            { $0.title = "T" }, { $0.body = "B" }, { $0.badge = 0 }, { $0.isSilent = true },
            { $0.data = #"{"a":1}"# }, { $0.pushType = "voip" }, { $0.imageURL = "https://x" },
            { $0.overrides = [PayloadOverride(family: "apns", json: "{}")] },
        ] { #expect(reasons(route, change).isEmpty) }
        route.set.fields = [(.body, try Template.parse("{{ missing }}"))]
        #expect(reasons(route) == ["empty"])
        route.set.fields = [(.body, try Template.parse("{{ n }}"))]
        #expect(reasons(route).isEmpty)
    }

    @Test func `a route can take back what is shown, if it has a key`() throws {
        var route = Route(name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns"])
        route.set.fields = [
            (.withdraw, try Template.parse("true")), (.collapse, try Template.parse("k-{{ n }}")),
        ]
        var note = PushNotification()
        note.title = "T"
        note.isDataOnly = true
        note.data = #"{"x":1}"#
        note.overrides = [PayloadOverride(family: "apns", json: "{}")]
        let content = BuiltContent(notification: note, targets: [.init(recipient: 0)])
        let made = run(route, [content])
        var wanted = PushNotification()
        wanted.isWithdrawn = true
        wanted.collapse = "k-7"
        wanted.priority = .normal
        #expect(made.deliveries.map(\.content.notification) == [wanted])
        // Without a key a device cannot find the notification.
        route.set.fields.removeLast()
        let nameless = run(route, [content])
        #expect(nameless.deliveries.isEmpty)
        #expect(nameless.skips.contains { $0.reason == "withdraw_without_collapse" })
        route.set.fields = [(.withdraw, try Template.parse("false"))]
        #expect(run(route, [content]).deliveries.first?.content.notification.title == "T")
    }

    @Test func `templates of the recipient split the content`() throws {
        var route = Route(
            name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns", "android": "fcm"])
        route.set.fields = [(.title, try Template.parse("{{ recipient.locale }}"))]
        let made = run(
            route,
            [
                BuiltContent(
                    notification: PushNotification(),
                    targets: [.init(recipient: 0), .init(recipient: 1), .init(recipient: 0)])
            ])
        #expect(made.deliveries.map(\.content.notification.title) == ["de", "en", "de"])
        #expect(made.deliveries[0].content === made.deliveries[2].content)
    }

    @Test func `a notification may expire before the route says`() {
        let route = Route(name: "r", sources: ["z"], builder: "z", senders: ["ios": "apns"])
        var note = PushNotification()
        note.body = "B"
        note.expiresUnixMs = 1_200
        let made = run(route, [BuiltContent(notification: note, targets: [.init(recipient: 0)])])
        #expect(made.deliveries.map(\.deadlineUnixMs) == [1_200])
    }
}
