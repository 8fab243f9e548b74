internal import Glibc
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxJSON

/// Compares a trial's report with what a test expects.
struct RouteTestCheck {
    /// The folder that paths of golden files start from.
    let folder: String
    /// Whether to rewrite golden files that differ.
    let updates: Bool
    private(set) var failures: [RouteTestRun.Failure] = []
    private(set) var written: [String] = []

    init(folder: String, updates: Bool) {
        self.folder = folder
        self.updates = updates
    }

    mutating func fail(at position: SourcePosition, _ what: String, _ lines: [String]) {
        failures.append(.init(place: "\(position.text): \(what)", lines: lines))
    }

    mutating func check(_ test: RouteTest, _ report: TrialReport) {
        if test.expect.isEmpty, let first = report.pushes.first(where: \.push.isSent) {
            fail(
                at: test.position, "no push was expected",
                ["found a push of route \(first.route) by \(first.push.sender)"])
        } else if test.expect.isEmpty, let webhook = report.webhook, let fault = webhook.fault {
            fail(
                at: test.position, "no push was expected",
                ["the webhook was answered \(webhook.status): \(fault)"])
        } else if test.expect.isEmpty {
            failIfRouteFailed(nil, report, at: test.position, "no push was expected")
        }
        for expectation in test.expect { check(expectation, report) }
    }

    private mutating func check(_ wanted: RouteTest.Expectation, _ report: TrialReport) {
        if let status = wanted.status {
            guard report.webhook?.status != status else { return checkPushes(wanted, report) }
            let fault = report.webhook?.fault.map { ": \($0)" } ?? ""
            let found = report.webhook.map { "answered \($0.status)\(fault)" } ?? "no webhook"
            fail(at: wanted.position, "status", ["expected \(status), found \(found)"])
            return
        }
        if wanted.skipped != nil { return checkSkips(wanted, report) }
        checkPushes(wanted, report)
    }

    private mutating func checkSkips(_ wanted: RouteTest.Expectation, _ report: TrialReport) {
        let routes = report.events.flatMap(\.routes)
            .filter { wanted.route == nil || $0.name == wanted.route }
        let skips = routes.flatMap(\.skips).filter { skip in
            (wanted.user == nil || skip.device.user == wanted.user)
                && (wanted.platform == nil || skip.device.platform == wanted.platform)
        }
        guard !skips.contains(where: { $0.reason == wanted.skipped }) else { return }
        let found = skips.map { "\($0.device.user) left out: \($0.reason)" }
        let why = routes.flatMap { route in
            route.whyNot.map { "route \(route.name) does not take it: \($0)" }
        }
        fail(
            at: wanted.position, "skipped: \(wanted.skipped ?? "")",
            found + why + (found.isEmpty ? ["nobody was left out"] : []))
    }

    private mutating func checkPushes(_ wanted: RouteTest.Expectation, _ report: TrialReport) {
        if wanted.isStatusAlone { return }
        let pushes = report.pushes.filter { route, push in
            push.isSent && (wanted.route == nil || route == wanted.route)
                && (wanted.sender == nil || push.sender == wanted.sender)
                && (wanted.platform == nil || push.device.platform == wanted.platform)
                && (wanted.user == nil || push.device.user == wanted.user)
        }.map(\.push)
        if wanted.pushes == 0, let user = wanted.user, !report.names(user) {
            fail(
                at: wanted.position, "\(Self.words(wanted)): expected 0 pushes",
                ["nothing that came in names \(user)"])
            return
        }
        if let count = wanted.pushes, count != pushes.count {
            fail(
                at: wanted.position, "\(Self.words(wanted)): expected \(count) pushes",
                ["found \(pushes.count)"] + Self.reasons(wanted, report))
            return
        }
        if wanted.pushes == 0 {
            return failIfRouteFailed(
                wanted.route, report, at: wanted.position,
                "\(Self.words(wanted)): expected 0 pushes")
        }
        guard !pushes.isEmpty else {
            fail(
                at: wanted.position, "\(Self.words(wanted)): expected a push",
                Self.reasons(wanted, report))
            return
        }
        compare(wanted, pushes.flatMap(\.handedOver))
    }

    /// Fails an expectation of no push that only a failed builder or filter satisfies.
    private mutating func failIfRouteFailed(
        _ name: String?, _ report: TrialReport, at position: SourcePosition, _ what: String
    ) {
        let faults = report.events.flatMap(\.routes)
            .filter { name == nil || $0.name == name }
            .compactMap { route in route.fault.map { "route \(route.name): \($0)" } }
        if !faults.isEmpty { fail(at: position, what, faults) }
    }

    // MARK: Payloads

    private mutating func compare(
        _ wanted: RouteTest.Expectation, _ pushes: [TrialReport.Push.HandedOver]
    ) {
        var golden: JSONValue?
        if let file = wanted.payloadFile {
            golden = read(file)
            guard golden != nil || updates else {
                fail(
                    at: wanted.position, "payload_file: \(file) is missing or not JSON",
                    ["run it with --update to write it"])
                return
            }
        }
        let differences = pushes.map { push -> [String] in
            var lines: [String] = []
            if let payload = wanted.payload {
                lines += PayloadDiff.lines(
                    expected: payload, found: push.payload, isWhole: false)
            }
            if let golden {
                lines += PayloadDiff.lines(expected: golden, found: push.payload, isWhole: true)
            } else if wanted.payloadFile != nil {
                lines.append("payload: there is no golden file")
            }
            if let time = wanted.notBeforeUnixMs, time != push.notBeforeUnixMs ?? 0 {
                let found =
                    push.notBeforeUnixMs.map { TimeText.utc($0) } ?? "none, it is sent at once"
                let expected = time == 0 ? "none" : TimeText.utc(time)
                lines.append("not_before: expected \(expected), found \(found)")
            }
            return lines + Self.differences(of: push, in: wanted.headers)
        }
        // If several pushes differ, the closest one shows best what is wrong.
        let differing = differences.indices.filter { !differences[$0].isEmpty }
        guard
            let nearest = differing.min(by: { differences[$0].count < differences[$1].count })
        else { return }
        if updates, let file = wanted.payloadFile, write(pushes[nearest].payload, to: file) {
            written.append(file)
            let left = differences[nearest].filter { !$0.hasPrefix("payload") }
            guard !left.isEmpty || wanted.payload != nil else { return }
        }
        fail(at: wanted.position, Self.words(wanted), differences[nearest])
    }

    private static func differences(
        of push: TrialReport.Push.HandedOver, in wanted: [Attribute]
    ) -> [String] {
        wanted.compactMap { header in
            let place =
                "header \(header.key): expected \(JSONValue.string(header.value).text), found "
            guard let headers = push.headers else {
                return place
                    + "no request: \(push.sender) has a transport of its own, expect its payload"
            }
            let found = headers.first { $0.key == header.key }?.value
            guard found != header.value else { return nil }
            return place + (found.map { JSONValue.string($0).text } ?? "nothing")
        }
    }

    private func path(_ name: String) -> String {
        name.hasPrefix("/") ? name : "\(folder)/\(name)"
    }

    private func read(_ name: String) -> JSONValue? {
        guard case .success(let bytes) = ConfigEnvironment.read(path(name)) else { return nil }
        return try? JSONValue.parse(bytes)
    }

    private func write(_ value: JSONValue, to name: String) -> Bool {
        guard let file = fopen(path(name), "we") else { return false }
        let isWritten = fputs(value.pretty + "\n", file) >= 0
        return fclose(file) == 0 && isWritten
    }

    // MARK: Words

    private static func words(_ wanted: RouteTest.Expectation) -> String {
        let parts = [
            wanted.route.map { "route \($0)" }, wanted.sender.map { "send \($0)" },
            wanted.platform.map { "platform \($0)" }, wanted.user.map { "user \($0)" },
        ].compactMap { $0 }
        return parts.isEmpty ? "any route" : parts.joined(separator: ", ")
    }

    /// Why there is no push, or a different number of pushes.
    private static func reasons(
        _ wanted: RouteTest.Expectation, _ report: TrialReport
    ) -> [String] {
        var out: [String] = []
        if let webhook = report.webhook, let fault = webhook.fault {
            out.append("the webhook was answered \(webhook.status): \(fault)")
        } else if report.events.isEmpty {
            out.append("no event came of it")
        }
        for route in report.events.flatMap(\.routes)
        where wanted.route == nil || route.name == wanted.route {
            out += route.whyNot.map { "route \(route.name) does not take it: \($0)" }
            if let fault = route.fault { out.append("route \(route.name): \(fault)") }
            out += route.skips.map {
                "route \(route.name): \($0.device.user.isEmpty ? "a device" : $0.device.user) left out: \($0.reason)"
            }
            out += route.pushes.compactMap { push in
                push.fault.map { "route \(route.name), \(push.sender): not sent: \($0)" }
            }
        }
        return out
    }
}

extension RouteTest.Expectation {
    /// Whether it expects nothing about pushes.
    fileprivate var isStatusAlone: Bool {
        status != nil && pushes == nil && payload == nil && payloadFile == nil && headers.isEmpty
            && notBeforeUnixMs == nil && [route, sender, platform, user].allSatisfy { $0 == nil }
    }
}

extension TrialReport {
    /// Whether an event has this user among its recipients.
    fileprivate func names(_ user: String) -> Bool {
        events.contains { one in one.event.recipients.contains { $0.device.user == user } }
    }
}

extension TrialReport.Push {
    /// A push as handed over to a provider, or to a plugin with its own transport.
    fileprivate struct HandedOver {
        let sender: String
        let payload: JSONValue
        /// nil if it is not a request.
        let headers: [Attribute]?
        let notBeforeUnixMs: UInt64?
    }

    fileprivate var handedOver: [HandedOver] {
        let requests = requests.map { ($0.body, Optional($0.headers)) }
        return (hasOwnTransport ? [(notification.shown, nil)] : requests).map {
            HandedOver(
                sender: sender, payload: $0.0, headers: $0.1, notBeforeUnixMs: notBeforeUnixMs)
        }
    }
}
