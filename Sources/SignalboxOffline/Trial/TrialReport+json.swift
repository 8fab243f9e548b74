package import SignalboxCore
internal import SignalboxJSON

extension TrialReport {
    /// The report as JSON; docs/trying.md has the members.
    package var json: JSONValue {
        .object([
            .init("sends", .bool(sendsAnything)),
            .init("webhook", webhook.map(Self.json) ?? .null),
            .init("events", .array(events.map(Self.json))),
            .init(
                "calls",
                .array(
                    calls.map { call in
                        .object([
                            .init("call", .string(call.text)),
                            .init("status", .integer(Int64(call.status))),
                            .init("given", .bool(call.isGiven)),
                        ])
                    })), .init("stand_ins", .array(standIns.map(JSONValue.string))),
            .init("notes", .array(notes.map(JSONValue.string))), .init("text", .string(text)),
        ])
    }

    private static func json(_ webhook: Webhook) -> JSONValue {
        .object([
            .init("instance", .string(webhook.instance)), .init("path", .string(webhook.path)),
            .init("status", .integer(Int64(webhook.status))),
            .init("fault", webhook.fault.map(JSONValue.string) ?? .null),
            .init(
                "rejects",
                .array(
                    webhook.rejects.map { reject in
                        .object([
                            .init("reason", .string(reject.reason)),
                            .init("detail", .string(reject.detail)),
                        ])
                    })),
            .init(
                "changes",
                .array(
                    webhook.changes.map { change in
                        .object([
                            .init("kind", .string(change.kind)),
                            .init("user", .string(change.user)),
                        ])
                    })),
        ])
    }

    private static func json(_ one: OneEvent) -> JSONValue {
        .object([
            .init("source", .string(one.event.source)), .init("type", .string(one.event.type)),
            .init("subject", .string(one.event.subject)),
            .init("dedupe", one.event.dedupe.isEmpty ? .null : .string(one.event.dedupe)),
            .init("dedupe_ms", .integer(Int64(clamping: one.dedupeMs))),
            .init("recipients", .integer(Int64(one.recipientCount))),
            .init("data", one.event.parsed?.value(at: []) ?? .object([])),
            .init("routes", .array(one.routes.map(json))),
        ])
    }

    private static func json(_ route: OnRoute) -> JSONValue {
        .object([
            .init("name", .string(route.name)), .init("matched", .bool(route.whyNot.isEmpty)),
            .init("why_not", .array(route.whyNot.map(JSONValue.string))),
            .init("builder", .string(route.builder)),
            .init("fault", route.fault.map(JSONValue.string) ?? .null),
            .init(
                "skipped",
                .array(
                    route.skips.map { skip in
                        .object([
                            .init("user", .string(skip.device.user)),
                            .init("platform", .string(skip.device.platform)),
                            .init("reason", .string(skip.reason)),
                        ])
                    })), .init("pushes", .array(route.pushes.map(\.json))),
        ])
    }

    fileprivate static func json(_ request: Request) -> JSONValue {
        .object([
            .init("method", .string(request.method)), .init("url", .string(request.url)),
            .init(
                "headers", .object(request.headers.map { .init($0.key, .string($0.value)) })),
            .init("body", request.body), .init("bytes", .integer(Int64(request.bytes))),
            .init("bytes_max", request.bytesMax.map { .integer(Int64($0)) } ?? .null),
            .init("shortened", .array(request.shortened.map(JSONValue.string))),
        ])
    }
}

extension TrialReport.Push {
    /// The push as JSON.
    package var json: JSONValue {
        var members: [JSONValue.Member] = [
            .init("sender", .string(sender)), .init("platform", .string(device.platform)),
            .init("app", .string(device.app)), .init("user", .string(device.user)),
            .init("invented", .bool(isInvented)), .init("alert", alert),
            .init("notification", notification.shown),
            .init("fault", fault.map(JSONValue.string) ?? .null),
            .init("own_transport", .bool(hasOwnTransport)),
            .init("requests", .array(requests.map(TrialReport.json))),
        ]
        if let notBeforeUnixMs {
            let time = Int64(clamping: notBeforeUnixMs)
            members.append(.init("not_before_unix_ms", .integer(time)))
        }
        return .object(members)
    }

    /// What the phone shows according to the notification; null if it shows nothing.
    var alert: JSONValue {
        let note = notification
        guard !note.isSilent, !note.isDryRun, !note.isWithdrawn else { return .null }
        return .object([
            .init("title", .string(note.title)), .init("subtitle", .string(note.subtitle)),
            .init("body", .string(note.body)),
            .init("badge", (badge ?? note.badge).map { .integer(Int64($0)) } ?? .null),
            .init("image", .string(note.imageURL)),
        ])
    }
}

extension PushNotification {
    /// The members that are set, with the names of `sbx_notification`.
    package var shown: JSONValue {
        var out: [JSONValue.Member] = []
        for (key, isSet) in [
            ("silent", isSilent), ("data_only", isDataOnly), ("mutable", isMutable),
            ("dry_run", isDryRun), ("withdrawn", isWithdrawn),
        ] where isSet { out.append(.init(key, .bool(true))) }
        if let priority { out.append(.init("priority", .string("\(priority)"))) }
        if let badge { out.append(.init("badge", .integer(Int64(badge)))) }
        for (key, text) in [
            ("title", title), ("subtitle", subtitle), ("body", body), ("sound", sound),
            ("thread", thread), ("category", category), ("collapse", collapse),
            ("image_url", imageURL), ("link", link), ("push_type", pushType),
        ] where !text.isEmpty { out.append(.init(key, .string(text))) }
        if !data.isEmpty, let parsed = try? JSONValue.parse(data) {
            out.append(.init("data", parsed))
        }
        let laid = overrides.map { override in
            JSONValue.Member(
                override.family, (try? JSONValue.parse(override.json)) ?? .null)
        }
        if !laid.isEmpty { out.append(.init("overrides", .object(laid))) }
        return .object(out)
    }
}
