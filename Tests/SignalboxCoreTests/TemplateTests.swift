import SignalboxCore
import Testing

@Suite struct TemplateTests {
    let fields = EventFields(
        event: Event(type: "ticket.replied", subject: "ticket/5", timeUnixMs: 1_700_000_000_000),
        data: .object([
            .init("ticket_id", .string("5")), .init("count", .integer(3)), .init("none", .null),
            .init("notification", .object([.init("title", .string("Agent replied"))])),
            .init("files", .array([.object([.init("name", .string("a.png"))])])),
        ]))

    @Test(arguments: [
        ("plain", "plain"), ("ticket-{{ ticket_id }}", "ticket-5"), ("{{ticket_id}}", "5"),
        ("{{ notification.title }}!", "Agent replied!"), ("{{ data.ticket_id }}", "5"),
        ("{{ type }}/{{ subject }}", "ticket.replied/ticket/5"), ("{{ time }}", "1700000000000"),
        ("{{ count }}{{ none }}{{ missing }}", "3"), ("{{ notification }}", ""),
        ("{{ files.0.name }}", "a.png"), ("{{ files.1.name }}", ""), ("{{{{ x }}", "{{ x }}"),
        ("{{ missing | default: \"some | one\" }}", "some | one"),
        ("{{ notification.title | truncate: 6 }}", "Agent…"), ("", ""),
        ("ä{{ ticket_id }}ö", "ä5ö"),
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
    ])
    func `a fault names its place`(text: String, offset: Int, words: String) {
        let fault = #expect(throws: TemplateFault.self) { try Template.parse(text) }
        #expect(fault?.offset == offset)
        #expect(fault?.message.contains(words) == true)
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
}
