internal import SignalboxCore
internal import SignalboxGateway

extension TrialReport {
    /// A report in the forms that a command prints.
    package struct Shown: Sendable {
        /// For people.
        package let text: String
        /// JSON in one line.
        package let json: String
        /// Whether at least one push would leave the gateway.
        package let sendsAnything: Bool

        package init(text: String, json: String, sendsAnything: Bool) {
            self.text = text
            self.json = json
            self.sendsAnything = sendsAnything
        }
    }

    /// The report, ready to show.
    package var shown: Shown { Shown(text: text, json: json.text, sendsAnything: sendsAnything) }

    /// The report for people, without colours.
    package var text: String {
        var out = Lines()
        if let webhook { out.add(webhook) }
        for one in events { out.add(one) }
        if webhook?.fault == nil, events.isEmpty { out.line("no event came of it", 0) }
        for call in calls where call.isGiven || !call.text.contains("/token") {
            let how =
                call.isGiven ? "answered \(call.status) as given" : "answered with a made-up token"
            out.line("call   \(call.text): not made, \(how)", 0)
        }
        if !standIns.isEmpty {
            out.line("missing, so other values stand in: \(standIns.joined(separator: ", "))", 0)
        }
        for note in notes { out.line("note   \(note)", 0) }
        return out.text
    }

    fileprivate struct Lines {
        private(set) var text = ""

        mutating func line(_ line: String, _ depth: Int) {
            text += String(repeating: "  ", count: depth) + line + "\n"
        }

        mutating func add(_ webhook: Webhook) {
            let fault = webhook.fault.map { ": \($0)" } ?? ""
            line("webhook for \(webhook.instance): answered \(webhook.status)\(fault)", 0)
            for reject in webhook.rejects {
                line("rejected an item: \(reject.reason) \(reject.detail)", 1)
            }
            for change in webhook.changes {
                line("device of \(change.user.isEmpty ? "a user" : change.user): \(change.kind)", 1)
            }
        }

        mutating func add(_ one: OneEvent) {
            let subject = one.event.subject.isEmpty ? "" : " \(one.event.subject)"
            let count = one.recipientCount
            line(
                "event \(one.event.type)\(subject) from \(one.event.source), "
                    + (count == 1 ? "1 recipient" : "\(count) recipients"), 0)
            if !one.event.dedupe.isEmpty, one.dedupeMs > 0 {
                line(
                    "the same event within \(DurationText.of(ms: one.dedupeMs)) is a duplicate", 1)
            }
            for route in one.routes { add(route) }
        }

        private mutating func add(_ route: OnRoute) {
            guard route.whyNot.isEmpty else {
                line("route \(route.name): no", 1)
                for reason in route.whyNot { line(reason, 2) }
                return
            }
            line("route \(route.name): yes, built by \(route.builder)", 1)
            if let fault = route.fault { line("failed: \(fault)", 2) }
            for skip in route.skips {
                let who = skip.device.user.isEmpty ? "a device" : skip.device.user
                let platform = skip.device.platform.isEmpty ? "" : " (\(skip.device.platform))"
                line("left out: \(who)\(platform), \(skip.reason)", 2)
            }
            for push in route.pushes { add(push) }
        }

        mutating func add(_ push: Push, depth: Int = 2) {
            let user = push.device.user.isEmpty ? "" : " of \(push.device.user)"
            let invented = push.isInvented ? " (invented: the user has no device here)" : ""
            line("push by \(push.sender) to \(push.device.platform)\(user)\(invented)", depth)
            if let notBefore = push.notBeforeUnixMs {
                line("not before \(TimeText.local(Int64(clamping: notBefore)))", depth + 1)
            }
            let note = push.notification
            for (name, text) in [
                ("title", note.title), ("subtitle", note.subtitle), ("body", note.body),
            ] where !text.isEmpty { line("\(name): \(text)", depth + 1) }
            if let fault = push.fault { line("not sent: \(fault)", depth + 1) }
            if push.hasOwnTransport {
                line(
                    "\(push.sender) has a transport of its own, so no request can be shown",
                    depth + 1)
            }
            for request in push.requests { add(request, depth + 1) }
        }

        private mutating func add(_ request: Request, _ depth: Int) {
            line("\(request.method) \(request.url)", depth)
            for header in request.headers { line("\(header.key): \(header.value)", depth) }
            for part in request.body.pretty.split(separator: "\n") { line(String(part), depth) }
            let limit = request.bytesMax.map { " of \($0)" } ?? ""
            let cut = Set(request.shortened).sorted().joined(separator: ", ")
            line(
                "\(request.bytes)\(limit) bytes" + (cut.isEmpty ? "" : ", shortened: \(cut)"), depth
            )
        }
    }
}

extension TrialReport.Push {
    /// The push alone, ready to show.
    package var shown: TrialReport.Shown {
        var out = TrialReport.Lines()
        out.add(self, depth: 0)
        return TrialReport.Shown(text: out.text, json: json.text, sendsAnything: isSent)
    }
}

extension JSONValue {
    /// The value as JSON on several lines, indented by two spaces, without a line break at its end.
    var pretty: String {
        var out = ""
        write(pretty: &out, indent: "")
        return out
    }

    private func write(pretty out: inout String, indent: String) {
        let deeper = indent + "  "
        switch self {
        case .array(let items) where !items.isEmpty:
            out += "["
            for (index, item) in items.enumerated() {
                out += index == 0 ? "\n\(deeper)" : ",\n\(deeper)"
                item.write(pretty: &out, indent: deeper)
            }
            out += "\n\(indent)]"
        case .object(let members) where !members.isEmpty:
            out += "{"
            for (index, member) in members.enumerated() {
                out += index == 0 ? "\n\(deeper)" : ",\n\(deeper)"
                out += JSONValue.string(member.key).text + ": "
                member.value.write(pretty: &out, indent: deeper)
            }
            out += "\n\(indent)}"
        default: out += text
        }
    }
}
