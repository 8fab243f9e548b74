import Testing

@testable import SignalboxCore

/// Values behind a reference stay values.
struct SharedValueTests {
    @Test func `a change of one event leaves its copies as they were`() {
        let first = Event(
            id: 1, source: "z", type: "a", data: #"{"n":1}"#,
            recipients: [Recipient(device: Device(user: "ada"))])
        var second = first
        second.id = 2
        second.recipients = []
        second.data = "{}"
        #expect(first.id == 1 && first.recipients.count == 1 && first.data == #"{"n":1}"#)
        #expect(second.id == 2 && second.recipients.isEmpty && second.data == "{}")
        #expect(second.source == "z" && second.type == "a")
        // Alone again, and still a value.
        let third = second
        second.subject = "ticket/5"
        #expect(third.subject.isEmpty && second.subject == "ticket/5")
    }

    @Test func `new data drops what was parsed of the old`() {
        var event = Event(type: "a", data: #"{"n":1}"#)
        event.parsed = JSONValue.object([])
        let kept = event
        event.data = #"{"n":2}"#
        #expect(event.parsed == nil && kept.parsed != nil)
    }

    @Test func `rare texts of an outcome are its own`() {
        var first = Outcome(item: 1, kind: .auth)
        first.detail = ""
        #expect(first.detail.isEmpty && first.newToken.isEmpty && first.credential.isEmpty)
        first.credential = "key"
        var second = first
        second.detail = "refused"
        second.credential = ""
        #expect(first.credential == "key" && first.detail.isEmpty)
        #expect(second.credential.isEmpty && second.detail == "refused")
    }
}
