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
                let first = driver.run(event, people)
                common.judge(first, of: driver, event, exam)
                exam.services.advance(ms: 26 * 3_600_000)
                guard driver.run(event, people).fingerprint != first.fingerprint else {
                    continue
                }
                exam.findings.fail(
                    .filterPure,
                    "\(event.type): the second call with the same now_unix_ms, a day later, gives "
                        + "another output")
            }
        }
    }

    /// Of the clock, only utc_offset is allowed; the second call finds a plugin that reads the time.
    private static let common = PureSteps(
        decides: .filterDecides, services: .filterServices, unknown: .filterUnknown,
        threads: .filterThreads, allowed: [SBX_SVC_LOG, SBX_SVC_JSON, SBX_SVC_CLOCK],
        leaving: "drop")

    private static func unknown(_ exam: Examination) {
        guard let driver = exam.filter() else { return }
        defer { driver.subject.end() }
        common.giveUnknown(driver, exam)
    }

    private static func threads(_ exam: Examination) {
        guard let driver = exam.filter() else { return }
        defer { driver.subject.end() }
        common.callTogether(driver, exam)
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
