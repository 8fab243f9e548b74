package import SignalboxCore
internal import SignalboxJSON

extension TrialReport {
    /// The report as JSON; docs/trying.md has the members.
    package var json: JSONValue {
        [
            "sends": .bool(sendsAnything), "webhook": webhook.map(Self.json) ?? .null,
            "events": .array(events.map(Self.json)),
            "calls": .array(
                calls.map { call in
                    [
                        "call": .string(call.text), "status": .integer(Int64(call.status)),
                        "given": .bool(call.isGiven),
                    ]
                }), "stand_ins": .array(standIns.map(JSONValue.string)),
            "notes": .array(notes.map(JSONValue.string)), "text": .string(text),
        ]
    }

    private static func json(_ webhook: Webhook) -> JSONValue {
        [
            "instance": .string(webhook.instance), "path": .string(webhook.path),
            "status": .integer(Int64(webhook.status)),
            "fault": webhook.fault.map(JSONValue.string) ?? .null,
            "rejects": .array(
                webhook.rejects.map { reject in
                    ["reason": .string(reject.reason), "detail": .string(reject.detail)]
                }),
            "changes": .array(
                webhook.changes.map { change in
                    ["kind": .string(change.kind), "user": .string(change.user)]
                }),
        ]
    }

    private static func json(_ one: OneEvent) -> JSONValue {
        [
            "source": .string(one.event.source), "type": .string(one.event.type),
            "subject": .string(one.event.subject),
            "dedupe": one.event.dedupe.isEmpty ? .null : .string(one.event.dedupe),
            "dedupe_ms": .integer(Int64(clamping: one.dedupeMs)),
            "recipients": .integer(Int64(one.recipientCount)),
            "data": one.event.parsed?.value(at: []) ?? .object([]),
            "routes": .array(one.routes.map(json)),
        ]
    }

    private static func json(_ route: OnRoute) -> JSONValue {
        [
            "name": .string(route.name), "matched": .bool(route.whyNot.isEmpty),
            "why_not": .array(route.whyNot.map(JSONValue.string)),
            "builder": .string(route.builder), "fault": route.fault.map(JSONValue.string) ?? .null,
            "skipped": .array(
                route.skips.map { skip in
                    [
                        "user": .string(skip.device.user),
                        "platform": .string(skip.device.platform), "reason": .string(skip.reason),
                    ]
                }), "pushes": .array(route.pushes.map(\.json)),
        ]
    }

    fileprivate static func json(_ request: Request) -> JSONValue {
        [
            "method": .string(request.method), "url": .string(request.url),
            "headers": .object(request.headers.map { .init($0.key, .string($0.value)) }),
            "body": request.body, "bytes": .integer(Int64(request.bytes)),
            "bytes_max": request.bytesMax.map { .integer(Int64($0)) } ?? .null,
            "shortened": .array(request.shortened.map(JSONValue.string)),
        ]
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
        return [
            "title": .string(note.title), "subtitle": .string(note.subtitle),
            "body": .string(note.body),
            "badge": (badge ?? note.badge).map { .integer(Int64($0)) } ?? .null,
            "image": .string(note.imageURL),
        ]
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
