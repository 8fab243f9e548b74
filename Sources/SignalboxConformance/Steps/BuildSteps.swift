internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// The build role: a pure function from an event to notifications.
enum BuildSteps {
    static let all = [
        CheckStep(
            name: "build",
            rules: [.buildPure, .buildServices, .buildEmits, .buildBlocks], seconds: 20,
            role: SBX_ROLE_BUILD, run: pure),
        CheckStep(
            name: "build-recipients", rules: [.buildRecipients], seconds: 20, role: SBX_ROLE_BUILD,
            run: recipients),
        CheckStep(
            name: "build-unknown", rules: [.buildUnknown], seconds: 20, role: SBX_ROLE_BUILD,
            run: unknown),
        CheckStep(
            name: "build-samples", rules: [.buildSamples], role: SBX_ROLE_BUILD, run: samples),
        CheckStep(
            name: "build-threads", rules: [.buildThreads], seconds: 20, role: SBX_ROLE_BUILD,
            run: threads),
    ]

    private static func pure(_ exam: Examination) {
        guard let driver = exam.builder() else { return }
        defer { driver.subject.end() }
        for event in exam.events() {
            exam.findings.doing("build() of \(event.type)")
            let people = exam.recipients(7)
            let first = driver.build(event, people)
            judge(first, event, exam)
            exam.services.advance(ms: 26 * 3_600_000)
            let again = driver.build(event, people)
            if first.fingerprint != again.fingerprint {
                exam.findings.fail(
                    .buildPure, "\(event.type): the second call, a day later, gives another output")
            }
        }
    }

    /// Checks what must hold for every output.
    private static func judge(_ built: BuildDriver.Built, _ event: Event, _ exam: Examination) {
        for refusal in built.refusals {
            exam.findings.fail(.buildEmits, "\(event.type): \(refusal)")
        }
        let others = built.services.subtracting([SBX_SVC_LOG, SBX_SVC_JSON])
        for service in others.sorted() {
            exam.findings.fail(.buildServices, "\(event.type): it used \(service)")
        }
        if ![0, -1, -3, -4].contains(built.result.status) {
            exam.findings.fail(
                .buildEmits, "\(event.type): build() answers \(built.result.text)")
        } else if !built.result.isOK, built.result.words.isEmpty {
            exam.findings.fail(.buildEmits, "\(event.type): it fails without words")
        }
        for skip in built.made.skips {
            if !OutcomeRules.isLabel(skip.reason) {
                exam.findings.fail(
                    .buildEmits,
                    "\(event.type): a skip has the reason \"\(skip.reason.prefix(40))\"")
            }
        }
    }

    private static func recipients(_ exam: Examination) {
        guard let driver = exam.builder() else { return }
        defer { driver.subject.end() }
        for event in exam.events() {
            for count in [0, 1, exam.amount(10_000, light: 100)] {
                exam.findings.doing("build() of \(event.type) for \(count) recipients")
                let built = driver.build(event, exam.recipients(count))
                judge(built, event, exam)
                let unnamed = built.made.skips.count { $0.reason == "unnamed" }
                if built.result.isOK, unnamed > 0 {
                    exam.findings.fail(
                        .buildRecipients,
                        "\(event.type): \(unnamed) of \(count) recipients are neither named nor skipped"
                    )
                }
            }
        }
    }

    private static func unknown(_ exam: Examination) {
        guard let driver = exam.builder() else { return }
        defer { driver.subject.end() }
        for type in ["of.another.time", "", "a", String(repeating: "t.", count: 2_000), "\u{e9}"] {
            for data in odd(exam) {
                exam.findings.doing("build() of \"\(type.prefix(20))\" with \(data.name)")
                var event = Event(source: "check", type: type, data: data.json)
                event.timeUnixMs = exam.services.nowUnixMs
                let built = driver.build(event, exam.recipients(2))
                judge(built, event, exam)
                if built.result.status == -1 {
                    exam.findings.fail(
                        .buildUnknown,
                        "\"\(type.prefix(20))\" with \(data.name): \(built.result.text); "
                            + "INTERNAL is for faults of the plugin")
                }
            }
        }
    }

    static func odd(_ exam: Examination) -> [(name: String, json: String)] {
        let values = ["null", "7", "\"x\"", "[]", "{}", "[{}]"]
        let keys = ["notification", "title", "body", "text", "message", "payload", "data"]
        let wrong = values.map { value in
            "{" + keys.map { "\"\($0)\":\(value)" }.joined(separator: ",") + "}"
        }
        let long =
            "{\"text\":\"\(String(repeating: "x", count: exam.amount(300_000, light: 2_000)))\"}"
        return [("no data", "{}"), ("long text", long)]
            + wrong.enumerated().map { ("members of the kind of \(values[$0])", $1) }
    }

    private static func samples(_ exam: Examination) {
        guard let driver = exam.builder() else { return }
        defer { driver.subject.end() }
        guard !exam.samples.events.isEmpty else {
            exam.findings.leave(
                .buildSamples, "give events that it must build with --samples FILE.json")
            return
        }
        for sample in exam.samples.events {
            var event = Event(source: "check", type: sample.type, data: sample.data)
            event.timeUnixMs = exam.services.nowUnixMs
            exam.findings.doing("build() of the sample \(sample.type)")
            let built = driver.build(event, exam.recipients(3))
            judge(built, event, exam)
            if !built.result.isOK {
                exam.findings.fail(
                    .buildSamples, "\(sample.type): build() answers \(built.result.text)")
            } else if built.made.contents.allSatisfy(\.targets.isEmpty) {
                exam.findings.fail(.buildSamples, "\(sample.type): nothing is built for anybody")
            }
        }
    }

    private static func threads(_ exam: Examination) {
        guard let driver = exam.builder() else { return }
        defer { driver.subject.end() }
        if exam.plugin?.library.isSerial == true {
            exam.findings.skip(.buildThreads, "the plugin is SBX_F_SERIAL")
        }
        let events = exam.events()
        let people = exam.recipients(5)
        let alone = events.map { driver.build($0, people).fingerprint }
        exam.findings.doing("build() on four threads at once")
        let rounds = exam.amount(25, light: 3)
        Together.run(threads: 4) { _ in
            for _ in 0..<rounds {
                for (index, event) in events.enumerated()
                where driver.build(event, people).fingerprint != alone[index] {
                    exam.findings.fail(
                        .buildThreads, "\(event.type): beside others it gives another output")
                }
            }
        }
    }
}

extension Examination {
    /// A started instance with its build role.
    func builder(isNewer: Bool = false) -> BuildDriver? {
        guard let plugin, let raw = plugin.role(SBX_ROLE_BUILD, sbx_build.self),
            let subject = started(isNewer: isNewer)
        else { return nil }
        let table = Tables.build(raw)
        return BuildDriver(
            subject: subject, table: table, options: sampleOptions(table.options_schema))
    }

    /// Options that fit a schema, as JSON.
    func sampleOptions(_ schema: UnsafePointer<CChar>?) -> String {
        guard let text = String(plugin: schema), let schema = try? ConfigSchema.parse(text) else {
            return "{}"
        }
        let at = SourcePosition(file: "options", line: 1, column: 1)
        let given = ConfigValue(schema.sample(), at: at)
        return schema.check(given, at: at, owner: "build", root: "options").config.json.text
    }

    /// The author's events, and one that many builders know.
    func events() -> [Event] {
        let now = services.nowUnixMs
        let known = CheckSamples.SampleEvent(
            type: "check.event",
            data: #"{"text":"Text","title":"T","notification":{"title":"T","body":"B"}}"#)
        return (samples.events + [known]).map {
            Event(source: "check", type: $0.type, data: $0.data, timeUnixMs: now)
        }
    }

    func recipients(_ count: Int) -> [Recipient] {
        let made = MadeUp(samples: samples, nowUnixMs: services.nowUnixMs)
        return (0..<count).map {
            Recipient(
                device: made.device($0 + 1),
                attributes: $0 % 2 == 0 ? [Attribute("unread", String($0))] : [])
        }
    }
}
