internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// The send-http role.
enum SendHTTPSteps {
    static let rules = TranslatorRules(
        endpoint: .sendHTTPEndpoint, prepare: .sendHTTPPrepare, hostile: .sendHTTPHostile,
        leaks: .sendHTTPLeaks, equal: .sendHTTPEqual, classify: .sendHTTPClassify,
        reasons: .sendHTTPReasons, threads: .sendHTTPThreads)

    static let all = [
        CheckStep(
            name: "send-http-prepare",
            rules: [
                .sendHTTPPrepare, .sendHTTPEndpoint, .sendHTTPLeaks, .sendHTTPEqual,
                .sendHTTPBlocks,
            ],
            seconds: 20, role: SBX_ROLE_SEND_HTTP
        ) { exam in
            exam.sendHTTP { translator, table in
                _ = translator.checkEndpoint(table.endpoint, mayRefuse: false)
                translator.checkBatches()
            }
        },
        CheckStep(
            name: "send-http-hostile", rules: [.sendHTTPHostile], seconds: 20,
            role: SBX_ROLE_SEND_HTTP
        ) { exam in
            exam.sendHTTP { translator, _ in translator.checkOdd(exam.oddDeliveries()) }
        },
        CheckStep(
            name: "send-http-classify", rules: [.sendHTTPClassify, .sendHTTPReasons], seconds: 30,
            role: SBX_ROLE_SEND_HTTP
        ) { exam in exam.sendHTTP { translator, _ in translator.checkAnswers() } },
        CheckStep(
            name: "send-http-threads", rules: [.sendHTTPThreads], seconds: 20,
            role: SBX_ROLE_SEND_HTTP
        ) { exam in exam.sendHTTP { translator, _ in translator.checkThreads() } },
    ]
}

extension Examination {
    /// Runs a body with a started instance and its send-http role.
    func sendHTTP(
        isNewer: Bool = false, _ body: (TranslatorExam<Delivery>, sbx_send_http) -> Void
    ) {
        guard let plugin, let raw = plugin.role(SBX_ROLE_SEND_HTTP, sbx_send_http.self),
            let subject = started(isNewer: isNewer)
        else { return }
        let table = Tables.sendHTTP(raw)
        let driver = TranslatorDriver(subject: subject, app: samples.app)
        let made = MadeUp(samples: samples, nowUnixMs: services.nowUnixMs)
        body(
            TranslatorExam(
                exam: self, driver: driver, rules: SendHTTPSteps.rules, noun: "delivery",
                maxBatch: Int(table.max_batch),
                make: { made.deliveries($0, first: $1) }, id: \.id,
                prepare: { driver.prepare($0, table, shape: $1) },
                classify: { driver.classify($0, table.classify, shape: $1) }), table)
        subject.end()
    }

    /// Deliveries with one odd part each.
    func oddDeliveries() -> [(name: String, item: Delivery)] {
        let made = MadeUp(samples: samples, nowUnixMs: services.nowUnixMs)
        var out: [(String, Delivery)] = []
        for token in MadeUp.oddTokens {
            var device = made.device(9)
            device.token = token
            out.append(
                (
                    "the token \(token.debugDescription.prefix(24))",
                    made.delivery(9, made.content(9), device)
                ))
        }
        for (name, note) in MadeUp.oddContents {
            out.append(
                (
                    "a content: \(name)",
                    made.delivery(9, SharedNotification(note, receivedUnixMs: 0), made.device(9))
                ))
        }
        for platform in ["ios", "android", "huawei", "web", "", "of-another-time"] {
            var device = made.device(9)
            device.platform = platform
            out.append(
                ("the platform \"\(platform)\"", made.delivery(9, made.content(9), device)))
        }
        var late = made.delivery(9, made.content(9), made.device(9))
        late.deadlineUnixMs = 1
        out.append(("a deadline that has passed", late))
        late.deadlineUnixMs = 0
        out.append(("no deadline", late))
        late.attempt = .max
        late.badge = -1
        out.append(("an attempt of a high number, and a negative badge", late))
        return out
    }
}
