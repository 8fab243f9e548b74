internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxObservability

/// A trace for people: each event, and below it its routes and recipients with what happened.
struct TraceText {
    let isEmpty: Bool
    private(set) var text = ""

    init(_ trace: JSONValue, _ query: TraceQuery) {
        let events = trace.items("events")
        isEmpty = events.isEmpty
        guard !events.isEmpty else {
            text = "no event was found; gateway.history bounds how long accepted events are kept"
            return
        }
        for event in events {
            add(event)
            text += "\n"
        }
        if trace["is_cut"] == .bool(true) {
            text += "There may be older events: --limit shows more, --before goes further back.\n"
        }
        while text.last == "\n" { text.removeLast() }
    }

    private mutating func add(_ event: JSONValue) {
        let id = event["event"]?.integer ?? 0
        line(0, event["received_unix_ms"], "event \(id)", event.text("result"))
        if let original = event["duplicate_of"]?.integer { text += " of event \(original)" }
        text += "\n  from \(event.text("source")): \(event.text("type"))"
        let parts = [("subject", "about"), ("source_id", "id there"), ("gateway", "gateway")]
        for (key, words) in parts {
            let value = event.text(key)
            if !value.isEmpty { text += ", \(words) \(value)" }
        }
        text += "\n"
        for route in event.items("routes") {
            let name = route.text("route")
            let (unmet, fault) = (route.text("unmet"), route.text("fault"))
            if !unmet.isEmpty {
                text += "  route \(name) does not take it: \(unmet)\n"
            } else if !fault.isEmpty {
                text += "  route \(name) failed: \(fault)\n"
            } else {
                text += "  route \(name) takes it\n"
            }
        }
        if event.items("routes").isEmpty {
            text += "  no route takes this type of this source\n"
        }
        let recipients = event.items("recipients")
        for recipient in recipients { add(recipient: recipient) }
        let count = event["recipients_count"]?.integer ?? 0
        if count == 0 { text += "  it names no recipient\n" }
        if count > recipients.count {
            text +=
                "  and \(max(0, Int(clamping: count) &- recipients.count)) recipients that you did not ask for\n"
        }
        for open in event.items("opens") {
            line(1, open["unix_ms"], "opened", open.text("who"))
            text += "\n"
        }
    }

    private mutating func add(recipient: JSONValue) {
        let user = recipient.text("user")
        var words = user.isEmpty ? "device" : user
        let place = ["platform", "app", "token"].map { recipient.text($0) }.filter { !$0.isEmpty }
        if !place.isEmpty { words += " (\(place.joined(separator: " ")))" }
        text += "  \(words)"
        let route = recipient.text("route")
        if !route.isEmpty { text += " on \(route)" }
        let sender = recipient.text("sender")
        if !sender.isEmpty { text += " by \(sender)" }
        let state = recipient.text("state")
        if !state.isEmpty { text += ": \(state)" }
        if state == "skipped" { text += ", \(recipient.text("reason"))" }
        if let notBefore = recipient["not_before_unix_ms"]?.integer {
            text += ", not before \(TimeText.local(notBefore)) (filter)"
        }
        text += "\n"
        for step in recipient.items("steps") { add(step: step) }
        for held in recipient.items("held") { add(held: held) }
    }

    private mutating func add(step: JSONValue) {
        var words = step.text("what").replacing("_", with: " ")
        if let attempt = step["attempt"]?.integer { words = "attempt \(attempt): \(words)" }
        line(2, step["unix_ms"], words, "")
        var rest: [String] = []
        rest += ["reason", "detail"].map { step.text($0) }.filter { !$0.isEmpty }
        if let code = step["code"]?.integer { rest.append("code \(code)") }
        if !step.text("provider_id").isEmpty { rest.append("id \(step.text("provider_id"))") }
        if let next = step["next_unix_ms"]?.integer {
            rest.append("next at \(TimeText.local(next))")
        }
        if !step.text("gateway").isEmpty { rest.append("by \(step.text("gateway"))") }
        if !rest.isEmpty { text += ", " + rest.joined(separator: ", ") }
        text += "\n"
    }

    /// Says why a delivery waits.
    private mutating func add(held: JSONValue) {
        let since = TimeText.local(held["since_unix_ms"]?.integer ?? 0)
        let (sender, by) = (held.text("sender"), held.text("by"))
        let what = sender.isEmpty ? "route \(held.text("route"))" : sender
        let words = ["reason", "detail"].map { held.text($0) }.filter { !$0.isEmpty }
        text += "    waits: \(what) is "
        text += by.isEmpty ? "held since \(since): " : "paused since \(since) by \(by)"
        if by.isEmpty {
            text += ([held.text("cause")] + words).joined(separator: ", ") + "\n"
        } else {
            text += (words.isEmpty ? "" : ": ") + words.joined() + "\n"
        }
    }

    private mutating func line(_ depth: Int, _ time: JSONValue?, _ what: String, _ rest: String) {
        text +=
            String(repeating: "  ", count: depth) + TimeText.local(time?.integer ?? 0) + " " + what
        if !rest.isEmpty { text += " " + rest }
    }
}

extension JSONValue {
    /// A member on one line, since much of a trace comes from outside.
    fileprivate func text(_ key: String) -> String {
        PlainText.line(self[key]?.string ?? "")
    }
}
