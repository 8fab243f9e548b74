internal import SignalboxCore

/// Made-up deliveries, changes and contents for an examination; every part carries a mark.
struct MadeUp: Sendable {
    let samples: CheckSamples
    let nowUnixMs: UInt64

    func device(_ number: Int) -> Device {
        Device(
            app: samples.app, platform: samples.platform, provider: samples.provider,
            token: Marks.token(number, pattern: samples.token),
            user: Marks.user(number, pattern: samples.user), locale: "de-AT",
            registeredUnixMs: nowUnixMs - 1_000)
    }

    /// A content with a mark in its texts.
    func content(_ number: Int) -> SharedNotification {
        var note = PushNotification()
        let mark = Marks.content + Marks.digits(number)
        note.title = "Title \(mark)"
        note.body = "Body \(mark) with \u{201e}quotes\u{201c}, \"\\\" and \u{1F514}"
        note.sound = "default"
        note.data = "{\"id\":\"\(mark)\",\"count\":7}"
        note.priority = .high
        return SharedNotification(note, receivedUnixMs: 0)
    }

    /// `count` deliveries that use three contents in turn; numbers and ids begin at `first`.
    func deliveries(_ count: Int, first: Int = 1) -> [Delivery] {
        let contents = (0..<3).map { content(first + $0) }
        return (0..<count).map { index in
            delivery(first + index, contents[index % 3], device(first + index))
        }
    }

    func delivery(_ number: Int, _ content: SharedNotification, _ device: Device) -> Delivery {
        Delivery(
            id: UInt64(number), eventID: 1, route: "check", sender: "checked",
            stableID: Marks.stableID(number), deadlineUnixMs: nowUnixMs + 3_600_000,
            content: content, device: device)
    }

    func changes(_ count: Int, kinds: [DeviceChange.Kind], first: Int = 1)
        -> [(id: UInt64, change: DeviceChange)]
    {
        (0..<count).map { index in
            let number = first + index
            let kind = kinds[index % kinds.count]
            let change = DeviceChange(
                kind: kind, device: device(number), timeUnixMs: nowUnixMs,
                reason: kind == .invalid ? "Unregistered" : "", subject: "check")
            return (UInt64(number), change)
        }
    }

    /// Tokens that no provider would issue.
    static let oddTokens = [
        "", " ", "a b", "x\r\nx-injected: yes", "\"}", "../../etc/passwd", "?a=b&c#d", "\u{0}",
        "\u{e9}\u{1F514}", "%00%2f", String(repeating: "f", count: 5_000), "{\"a\":1}", "\\u0000",
    ]

    /// Contents of every kind, including some that cannot be sent.
    static var oddContents: [(name: String, note: PushNotification)] {
        var out: [(String, PushNotification)] = [("an empty one", PushNotification())]
        func add(_ name: String, _ change: (inout PushNotification) -> Void) {
            var note = PushNotification()
            note.title = "Title"
            note.body = "Body"
            change(&note)
            out.append((name, note))
        }
        add("a silent one") { $0.isSilent = true }
        add("one of data alone") {
            $0.isDataOnly = true
            $0.data = #"{"a":{"b":[1,2.5,null,true,"x"]},"aps":1,"message":2,"from":"x"}"#
        }
        add("one that proves a device") { $0.isDryRun = true }
        add("one that takes another back") {
            $0.isWithdrawn = true
            $0.collapse = "collapse"
        }
        add("one with everything") {
            $0.isMutable = true
            $0.badge = 0
            $0.subtitle = "Subtitle"
            $0.sound = "ping.caf"
            $0.thread = "thread"
            $0.category = "category"
            $0.collapse = "collapse"
            $0.imageURL = "https://example.org/a.png"
            $0.link = "app://open?a=b"
            $0.priority = .low
            $0.overrides = [
                PayloadOverride(family: "apns", json: #"{"aps":{"badge":3}}"#),
                PayloadOverride(family: "of-another-time", json: #"{"a":1}"#),
            ]
        }
        add("one with control characters") { $0.body = "a\u{0}b\u{1}c\r\nd\u{2028}e" }
        add("one with line breaks in its keys") {
            $0.collapse = "a\r\nb: c"
            $0.category = "a\nb"
            $0.thread = "a\rb"
        }
        add("one with long keys") { $0.collapse = String(repeating: "k", count: 500) }
        add("a long one") { $0.body = String(repeating: "\u{e9}", count: 3_000) }
        add("one that is far too long") { $0.body = String(repeating: "x", count: 200_000) }
        add("one of an unknown push type") { $0.pushType = "of-another-time" }
        add("one with a large badge") { $0.badge = .max }
        add("one with a negative badge") { $0.badge = -1 }
        return out
    }
}
