internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// Structs of other sizes than the gateway's, and memory that ends where they end.
enum StructSteps {
    static let all = [
        CheckStep(name: "structs-longer", rules: [.structsLonger], seconds: 20) { exam in
            examine(exam, .longer, .structsLonger)
        },
        CheckStep(name: "structs-exact", rules: [.structsExact], seconds: 20) { exam in
            examine(exam, .exact, .structsExact)
        },
    ]

    /// Checks that each role does the same as with the gateway's structs.
    private static func examine(_ exam: Examination, _ shape: Shape, _ rule: CheckRule) {
        let isNewer = shape == .longer
        guard let plugin = exam.plugin else { return }
        func compare(_ name: String, _ plain: () -> [UInt8], _ shaped: () -> [UInt8]) {
            let first = plain()
            // Output with the time, or by chance, differs anyway.
            if shaped() != first, plain() == first {
                exam.findings.fail(rule, "\(name) gives another result with them")
            }
        }
        if plugin.has(SBX_ROLE_INGEST), let (subject, driver) = exam.ingest(isNewer: isNewer) {
            for request in exam.requests(driver) + exam.sampleRequests(driver) {
                exam.findings.doing("handle()")
                var request = request
                if request.body.isEmpty { request.body = Array("{\"a\":1}".utf8) }
                compare("handle()") {
                    [UInt8(driver.handle(request).status & 0xFF)]
                } _: {
                    [UInt8(driver.handle(request, shape: shape).status & 0xFF)]
                }
            }
            subject.end()
        }
        if plugin.has(SBX_ROLE_BUILD), let driver = exam.builder(isNewer: isNewer) {
            compareEach("build()", exam, compare) { event, people, shaped in
                shaped
                    ? driver.run(event, people, shape: shape).fingerprint
                    : driver.run(event, people).fingerprint
            }
            driver.subject.end()
        }
        if plugin.has(SBX_ROLE_FILTER), let driver = exam.filter(isNewer: isNewer) {
            compareEach("filter()", exam, compare) { event, people, shaped in
                shaped
                    ? driver.run(event, people, shape: shape).fingerprint
                    : driver.run(event, people).fingerprint
            }
            driver.subject.end()
        }
        if plugin.has(SBX_ROLE_SEND_HTTP) {
            exam.sendHTTP(isNewer: isNewer) { translator, table in
                exam.findings.doing("endpoint()")
                _ = translator.driver.endpoint(table.endpoint)
                translate(translator, shape, exam, compare)
            }
        }
        if plugin.has(SBX_ROLE_REGISTER) {
            exam.register(isNewer: isNewer) { translator, _ in
                translate(translator, shape, exam, compare)
            }
        }
        if plugin.has(SBX_ROLE_SEND), let driver = exam.sender(isNewer: isNewer) {
            exam.findings.doing("submit()")
            let made = MadeUp(samples: exam.samples, nowUnixMs: exam.services.nowUnixMs)
            let deliveries = made.deliveries(driver.size(7), first: 30_000)
            if !driver.submit(deliveries, shape: shape).result.isOK {
                exam.findings.fail(rule, "submit() fails with them")
            }
            driver.subject.end()
        }
    }

    /// Compares what a role makes of each event, with the gateway's structs and with the others.
    private static func compareEach(
        _ name: String, _ exam: Examination,
        _ compare: (String, () -> [UInt8], () -> [UInt8]) -> Void,
        _ run: @escaping (Event, [Recipient], _ shaped: Bool) -> String
    ) {
        for event in exam.events() {
            exam.findings.doing(name)
            let people = exam.recipients(5)
            compare(name, { Array(run(event, people, false).utf8) }) {
                Array(run(event, people, true).utf8)
            }
        }
    }

    private static func translate<Item>(
        _ translator: TranslatorExam<Item>, _ shape: Shape, _ exam: Examination,
        _ compare: (String, () -> [UInt8], () -> [UInt8]) -> Void
    ) {
        let items = translator.make(translator.size(7), 1)
        exam.findings.doing("prepare()")
        let plain = translator.prepare(items, .plain)
        compare("prepare()") {
            translator.prepare(items, .plain).fingerprint
        } _: {
            translator.prepare(items, shape).fingerprint
        }
        let answer = MadeUpAnswer(
            name: "", status: 410, headers: [Attribute("retry-after", "7")],
            body: Array("{\"reason\":\"Unregistered\",\"timestamp\":1700000000000}".utf8))
        let responses = plain.requests.map { answer.response(to: $0.items) }
        guard !responses.isEmpty else { return }
        exam.findings.doing("classify()")
        compare("classify()") {
            translator.classify(responses, .plain).fingerprint
        } _: {
            translator.classify(responses, shape).fingerprint
        }
    }
}
