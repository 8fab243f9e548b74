import SignalboxCore
import Testing

@Suite struct TemplateTests {
    let fields = EventFields(
        event: Event(type: "ticket.replied", subject: "ticket/5", timeUnixMs: 1_700_000_000_000),
        data: JSONValue.object([
            .init("ticket_id", .string("5")), .init("families", .string("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦")),
            .init("count", .integer(3)), .init("none", .null),
            .init("notification", ["title": "Agent replied"]),
            .init("files", [["name": "a.png"]]),
        ]))

    @Test(arguments: [
        ("plain", "plain"), ("ticket-{{ ticket_id }}", "ticket-5"), ("{{ticket_id}}", "5"),
        ("{{ notification.title }}!", "Agent replied!"), ("{{ data.ticket_id }}", "5"),
        ("{{ type }}/{{ subject }}", "ticket.replied/ticket/5"), ("{{ time }}", "1700000000000"),
        ("{{ count }}{{ none }}{{ missing }}", "3"), ("{{ notification }}", ""),
        ("{{ files.0.name }}", "a.png"), ("{{ files.1.name }}", ""), ("{{{{ x }}", "{{ x }}"),
        ("{{ missing | default: \"some | one\" }}", "some | one"),
        ("{{ notification.title | truncate: 6 }}", "Agent…"), ("", ""),
        ("ä{{ ticket_id }}ö", "ä5ö"), ("{{ families | truncate: 3 }}", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦…"),
        ("{{ families | truncate_bytes: 53 }}", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦…"),
        ("{{ families | truncate_bytes: 52 }}", "👨‍👩‍👧‍👦…"),
        ("{{ notification | json }}", #"{"title":"Agent replied"}"#),
        ("[{{ count | json }},{{ ticket_id | json }},{{ missing|json }}]", #"[3,"5",null]"#),
        ("{{ ticket_id | truncate_bytes: 3 }}", "5"), ("{{ families | truncate_bytes: 3 }}", "…"),
    ])
    func `places are filled from the event`(text: String, wanted: String) throws {
        #expect(try Template.parse(text).render(fields) == wanted)
    }

    @Test(arguments: [
        ("{{ x", 0, "never closed"), ("ab {{ }}", 5, "not a field"),
        ("{{ a b }}", 2, "not a field"), ("{{ a | upcase }}", 2, "unknown filter"),
        ("{{ a | defualt: \"x\" }}", 2, "did you mean \"default\""),
        ("{{ a | default: x }}", 2, "quoted"), ("{{ a | truncate: x }}", 2, "number"),
        ("{{ a | default: \"x }}", 16, "never closed"),
        ("{{ a | truncate_bytes: 2 }}", 2, "at least 3"),
        ("{{ a | json | truncate: 3 }}", 2, "json stands alone"),
        ("{{ a | default: \"x\" | json }}", 2, "json stands alone"),
        ("{{ texts.reply }}", 2, "{{ data.texts.reply }}"),
    ])
    func `a fault names its place`(text: String, offset: Int, words: String) {
        let fault = #expect(throws: TemplateFault.self) { try Template.parse(text) }
        #expect(fault?.offset == offset)
        #expect(fault?.message.contains(words) == true)
    }

    @Test func `a text is no longer than what is kept of one`() throws {
        let long = EventFields(
            event: Event(type: "t"),
            data: JSONValue.object([.init("x", .string(String(repeating: "漢", count: 200_000)))]))
        let text = try Template.parse("{{ x }}").render(long)
        #expect(text.utf8.count <= 16 * 1024 && text.hasSuffix("漢…"))
        #expect(try Template.parse("{{ x | truncate: 3 }}").render(long) == "漢漢…")
    }

    @Test func `recipients have fields of their own`() throws {
        let template = try Template.parse("{{ recipient.unread }}/{{ recipient.locale }}")
        #expect(template.readsRecipient)
        let recipient = Recipient(
            device: Device(token: "t", locale: "de"), attributes: [Attribute("unread", "4")])
        #expect(template.render(fields, recipient: recipient) == "4/de")
        #expect(template.render(fields) == "/")
        #expect(try !Template.parse("{{ ticket_id }}").readsRecipient)
    }

    @Test(arguments: [
        ("de-AT", "Servus Ann!"), ("de_at", "Servus Ann!"), ("de-CH", "Hallo Ann!"),
        ("DE", "Hallo Ann!"), ("zh-Hant-TW", "您好 Ann!"), ("fr", "Hello Ann!"), ("", "Hello Ann!"),
    ])
    func `a text comes in the recipient's language`(locale: String, wanted: String) throws {
        func template(_ text: String) throws -> Template { try Template.parse(text) }
        let hello = TextByLocale(
            [
                "de": try template("Hallo {{ recipient.name }}"),
                "de-AT": try template("Servus {{ recipient.name }}"),
                "zh-Hant": try template("您好 {{ recipient.name }}"),
            ], default: try template("Hello {{ recipient.name }}"))
        let greeting = try Template.parse("{{ texts.hello }}!", texts: ["hello": hello])
        #expect(greeting.readsRecipient)
        let recipient = Recipient(
            device: Device(token: "t", locale: locale), attributes: [Attribute("name", "Ann")])
        #expect(greeting.render(fields, recipient: recipient) == wanted)
        #expect(greeting.render(fields) == "Hello !")
    }
}
