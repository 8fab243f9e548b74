internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// What holds for every role that is a pure function of an event: build and filter.
struct PureSteps {
    /// The role's rules.
    let decides, services, unknown, threads: CheckRule
    /// The services that it may use.
    let allowed: Set<String>
    /// `skip`: what leaves a recipient out.
    let leaving: String

    /// Checks what must hold for every output of `driver`.
    func judge<Driver: PureDriver>(
        _ answer: PureAnswer<Driver.Made>, of driver: Driver, _ event: Event, _ exam: Examination
    ) {
        for refusal in answer.refusals {
            exam.findings.fail(decides, "\(event.type): \(refusal)")
        }
        for service in answer.services.subtracting(allowed).sorted() {
            exam.findings.fail(services, "\(event.type): it used \(service)")
        }
        if ![0, -1, -3, -4].contains(answer.result.status) {
            exam.findings.fail(
                decides, "\(event.type): \(Driver.name) answers \(answer.result.text)")
        } else if !answer.result.isOK, answer.result.words.isEmpty {
            exam.findings.fail(decides, "\(event.type): it fails without words")
        }
        for reason in Set(answer.reasons) where !OutcomeRules.isLabel(reason) {
            exam.findings.fail(
                decides, "\(event.type): a \(leaving) has the reason \"\(reason.prefix(40))\"")
        }
    }

    /// Gives it events that it does not know.
    func giveUnknown(_ driver: some PureDriver, _ exam: Examination) {
        for type in ["of.another.time", "", "a", String(repeating: "t.", count: 2_000), "\u{e9}"] {
            for data in Self.odd(exam) {
                let words = "\"\(type.prefix(20))\" with \(data.name)"
                exam.findings.doing("\(Self.name(driver)) of \(words)")
                var event = Event(source: "check", type: type, data: data.json)
                event.timeUnixMs = exam.services.nowUnixMs
                let answer = driver.run(event, exam.recipients(2))
                judge(answer, of: driver, event, exam)
                if answer.result.status == -1 {
                    exam.findings.fail(
                        unknown,
                        "\(words): \(answer.result.text); INTERNAL is for faults of the plugin")
                }
            }
        }
    }

    private static func name<Driver: PureDriver>(_ driver: Driver) -> String { Driver.name }

    private static func odd(_ exam: Examination) -> [(name: String, json: String)] {
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

    /// Calls it on four threads at once.
    func callTogether(_ driver: some PureDriver, _ exam: Examination) {
        if exam.plugin?.library.isSerial == true {
            exam.findings.skip(threads, "the plugin is SBX_F_SERIAL")
        }
        let (events, people) = (exam.events(), exam.recipients(5))
        let alone = events.map { driver.run($0, people).fingerprint }
        exam.findings.doing("\(Self.name(driver)) on four threads at once")
        let rounds = exam.amount(25, light: 3)
        Together.run(threads: 4) { _ in
            for _ in 0..<rounds {
                for (index, event) in events.enumerated()
                where driver.run(event, people).fingerprint != alone[index] {
                    exam.findings.fail(
                        threads, "\(event.type): beside others it gives another output")
                }
            }
        }
    }
}
