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
            let first = driver.run(event, people)
            common.judge(first, of: driver, event, exam)
            exam.services.advance(ms: 26 * 3_600_000)
            let again = driver.run(event, people)
            if first.fingerprint != again.fingerprint {
                exam.findings.fail(
                    .buildPure, "\(event.type): the second call, a day later, gives another output")
            }
        }
    }

    private static let common = PureSteps(
        decides: .buildEmits, services: .buildServices, unknown: .buildUnknown,
        threads: .buildThreads, allowed: [SBX_SVC_LOG, SBX_SVC_JSON], leaving: "skip")

    private static func recipients(_ exam: Examination) {
        guard let driver = exam.builder() else { return }
        defer { driver.subject.end() }
        for event in exam.events() {
            for count in [0, 1, exam.amount(10_000, light: 100)] {
                exam.findings.doing("build() of \(event.type) for \(count) recipients")
                let built = driver.run(event, exam.recipients(count))
                common.judge(built, of: driver, event, exam)
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
        common.giveUnknown(driver, exam)
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
            let built = driver.run(event, exam.recipients(3))
            common.judge(built, of: driver, event, exam)
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
        common.callTogether(driver, exam)
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
