internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// The filter role: a pure function from an event to the recipients that it passes on.
enum FilterSteps {
    static let all = [
        CheckStep(
            name: "filter", rules: [.filterPure, .filterServices, .filterDecides, .filterBlocks],
            seconds: 20,
            role: SBX_ROLE_FILTER, run: pure),
        CheckStep(
            name: "filter-unknown", rules: [.filterUnknown], seconds: 20, role: SBX_ROLE_FILTER,
            run: unknown),
        CheckStep(
            name: "filter-threads", rules: [.filterThreads], seconds: 20, role: SBX_ROLE_FILTER,
            run: threads),
    ]

    private static func pure(_ exam: Examination) {
        guard let driver = exam.filter() else { return }
        defer { driver.subject.end() }
        for event in exam.events() {
            for count in [0, 1, 7, exam.amount(10_000, light: 100)] {
                exam.findings.doing("filter() of \(event.type) for \(count) recipients")
                let people = exam.recipients(count)
                let first = driver.filter(event, people)
                judge(first, event, exam)
                exam.services.advance(ms: 26 * 3_600_000)
                guard driver.filter(event, people).fingerprint != first.fingerprint else {
                    continue
                }
                exam.findings.fail(
                    .filterPure,
                    "\(event.type): the second call with the same now_unix_ms, a day later, gives "
                        + "another output")
            }
        }
    }

    /// Checks what must hold for every output.
    private static func judge(
        _ answer: FilterDriver.Answer, _ event: Event, _ exam: Examination
    ) {
        for refusal in answer.refusals {
            exam.findings.fail(.filterDecides, "\(event.type): \(refusal)")
        }
        // Of the clock, only utc_offset is allowed; the second call finds a plugin that reads the time.
        let others = answer.services.subtracting([SBX_SVC_LOG, SBX_SVC_JSON, SBX_SVC_CLOCK])
        for service in others.sorted() {
            exam.findings.fail(.filterServices, "\(event.type): it used \(service)")
        }
        if ![0, -1, -3, -4].contains(answer.result.status) {
            exam.findings.fail(
                .filterDecides, "\(event.type): filter() answers \(answer.result.text)")
        } else if !answer.result.isOK, answer.result.words.isEmpty {
            exam.findings.fail(.filterDecides, "\(event.type): it fails without words")
        }
        for reason in Set(answer.made.drops.map(\.reason)) where !OutcomeRules.isLabel(reason) {
            exam.findings.fail(
                .filterDecides, "\(event.type): a drop has the reason \"\(reason.prefix(40))\"")
        }
    }

    private static func unknown(_ exam: Examination) {
        guard let driver = exam.filter() else { return }
        defer { driver.subject.end() }
        for type in ["of.another.time", "", "a", String(repeating: "t.", count: 2_000), "\u{e9}"] {
            for data in BuildSteps.odd(exam) {
                exam.findings.doing("filter() of \"\(type.prefix(20))\" with \(data.name)")
                var event = Event(source: "check", type: type, data: data.json)
                event.timeUnixMs = exam.services.nowUnixMs
                let answer = driver.filter(event, exam.recipients(2))
                judge(answer, event, exam)
                if answer.result.status == -1 {
                    exam.findings.fail(
                        .filterUnknown,
                        "\"\(type.prefix(20))\" with \(data.name): \(answer.result.text); "
                            + "INTERNAL is for faults of the plugin")
                }
            }
        }
    }

    private static func threads(_ exam: Examination) {
        guard let driver = exam.filter() else { return }
        defer { driver.subject.end() }
        if exam.plugin?.library.isSerial == true {
            exam.findings.skip(.filterThreads, "the plugin is SBX_F_SERIAL")
        }
        let (events, people) = (exam.events(), exam.recipients(5))
        let alone = events.map { driver.filter($0, people).fingerprint }
        exam.findings.doing("filter() on four threads at once")
        let rounds = exam.amount(25, light: 3)
        Together.run(threads: 4) { _ in
            for _ in 0..<rounds {
                for (index, event) in events.enumerated()
                where driver.filter(event, people).fingerprint != alone[index] {
                    exam.findings.fail(
                        .filterThreads, "\(event.type): beside others it gives another output")
                }
            }
        }
    }
}

extension Examination {
    /// The filter role of a new instance; nil if the plugin lacks it or does not start.
    func filter(isNewer: Bool = false) -> FilterDriver? {
        guard let plugin, let raw = plugin.role(SBX_ROLE_FILTER, sbx_filter.self),
            let subject = started(isNewer: isNewer)
        else { return nil }
        let table = Tables.filter(raw)
        return FilterDriver(
            subject: subject, table: table, options: sampleOptions(table.options_schema),
            nowUnixMs: services.nowUnixMs)
    }
}
