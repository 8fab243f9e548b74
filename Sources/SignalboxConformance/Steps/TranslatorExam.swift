internal import Signalbox
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxPluginHost

/// The rules that one translating role is checked against.
struct TranslatorRules: Sendable {
    var endpoint: CheckRule
    var prepare: CheckRule
    var hostile: CheckRule
    var leaks: CheckRule
    var equal: CheckRule?
    var classify: CheckRule
    var reasons: CheckRule
    var threads: CheckRule
}

/// What send-http and register share: items in, requests out; answers in, outcomes out.
struct TranslatorExam<Item: Sendable>: Sendable {
    let exam: Examination
    let driver: TranslatorDriver
    let rules: TranslatorRules
    /// `delivery` or `change`, for messages.
    let noun: String
    let maxBatch: Int
    let make: @Sendable (_ count: Int, _ first: Int) -> [Item]
    let id: @Sendable (Item) -> UInt64
    let prepare: @Sendable ([Item], Shape) -> Translation
    let classify: @Sendable ([HTTPResponse], Shape) -> Translation

    var findings: Findings { exam.findings }

    /// The size of a call, at most `wanted`.
    func size(_ wanted: Int) -> Int { maxBatch > 0 ? min(wanted, maxBatch) : wanted }

    // MARK: endpoint

    /// Checks where the requests go. Returns false if the plugin has nothing to send.
    func checkEndpoint(_ function: TranslatorDriver.Endpoint, mayRefuse: Bool) -> Bool {
        findings.doing("endpoint()")
        let (result, endpoint) = driver.endpoint(function)
        if result.status == -8, mayRefuse { return false }
        guard result.isOK else {
            findings.fail(rules.endpoint, "endpoint() of the default app answers \(result.text)")
            return mayRefuse == false
        }
        switch endpoint {
        case .failure(let fault):
            findings.fail(rules.endpoint, "its secrets cannot be used: \(fault.message)")
        case .success(let found): check(origin: found.origin)
        case nil: break
        }
        return true
    }

    private func check(origin: String) {
        // Sources' systems may be reached without TLS, providers may not.
        let secure =
            origin.hasPrefix("http://") && !rules.endpoint.rawValue.hasPrefix("send-http")
            ? "https://" + origin.dropFirst(7) : origin
        do throws(EndpointError) {
            _ = try PushEndpoint(origin: secure)
        } catch {
            findings.fail(rules.endpoint, "\"\(origin.prefix(80))\": \(error.message)")
        }
    }

    // MARK: prepare

    /// Checks batches of 1, 7 and 512.
    ///
    /// Every item appears once, no item leaks into another, and equal contents render equally.
    func checkBatches() {
        var hasRequests = false
        var settledAs = ""
        for wanted in [1, 7, exam.amount(512, light: 32)] {
            let count = size(wanted)
            findings.doing("prepare() of \(count) in one call")
            let made = exam.services.holdingClock { prepare(make(count, 1), .plain) }
            judge(made, "\(count) in one call", rules.prepare)
            for request in made.requests { checkLeaks(request) }
            checkEqual(made.requests)
            hasRequests = hasRequests || !made.requests.isEmpty
            settledAs = made.outcomes.first?.reason ?? settledAs
        }
        guard !hasRequests, !findings.hasFailed(rules.prepare) else { return }
        let why =
            "every \(noun) was settled as \"\(settledAs)\" without a request: give a device that it "
            + "takes with --samples FILE.json"
        for rule in [rules.leaks, rules.classify, rules.reasons, rules.equal] {
            if let rule { findings.leave(rule, why) }
        }
    }

    /// Checks what must hold for every translation.
    func judge(_ made: Translation, _ name: String, _ rule: CheckRule) {
        if made.result.status == -5, made.requests.isEmpty, made.outcomes.isEmpty {
            findings.fail(
                rule, "\(name): it answers AGAIN although every credential was refreshed")
        } else if !made.result.isOK {
            findings.fail(rule, "\(name): it answers \(made.result.text)")
        }
        for refusal in made.refusals { findings.fail(rule, "\(name): \(refusal)") }
        for fault in made.faults { findings.fail(rule, "\(name): it \(fault)") }
        OutcomeRules.check(made.outcomes, rules.reasons, findings)
    }

    private func checkLeaks(_ request: RenderedRequest) {
        let bytes = request.bytes
        let own = Set(request.items.map { Int($0) })
        for (mark, what) in [
            (Marks.token, "token"), (Marks.user, "user"), (Marks.stable, "stable id"),
        ] {
            let others = Set(Marks.numbers(of: mark, in: bytes)).subtracting(own)
            if let other = others.first, let item = own.first {
                findings.fail(
                    rules.leaks,
                    "the request of \(noun) \(item) has the \(what) of \(noun) \(other)")
            }
        }
        let contents = Set(own.map { 1 + ($0 - 1) % 3 })
        let others = Set(Marks.numbers(of: Marks.content, in: bytes)).subtracting(contents)
        if !others.isEmpty {
            findings.fail(rules.leaks, "a request has the content of another \(noun)")
        }
    }

    private func checkEqual(_ requests: [RenderedRequest]) {
        guard let rule = rules.equal else { return }
        var known: [Int: (item: UInt64, bytes: [UInt8])] = [:]
        for request in requests where request.items.count == 1 {
            let item = request.items[0]
            let bytes = Marks.blanked(request.bytes)
            let content = (Int(item) - 1) % 3
            guard let first = known[content] else {
                known[content] = (item, bytes)
                continue
            }
            if first.bytes != bytes {
                findings.fail(
                    rule,
                    "\(noun) \(first.item) and \(noun) \(item) have one content and differ in more than "
                        + "the device")
                return
            }
        }
    }

    /// Puts one odd item beside a plain one.
    ///
    /// The odd one must be settled or sent soundly, and the plain one must not be affected.
    func checkOdd(_ odd: [(name: String, item: Item)]) {
        let plain = make(1, 1)
        let alone = prepare(plain, .plain)
        for (name, item) in odd {
            findings.doing("prepare() with \(name)")
            let batch = size(2) == 2 ? plain + [item] : [item]
            let made = prepare(batch, .plain)
            judge(made, name, rules.hostile)
            guard batch.count == 2, !alone.requests.isEmpty else { continue }
            if !made.requests.contains(where: { $0.items.contains(id(plain[0])) }) {
                findings.fail(rules.hostile, "\(name): its neighbour is not sent")
            }
        }
    }

    func checkThreads() {
        if exam.plugin?.library.isSerial == true {
            findings.skip(rules.threads, "the plugin is SBX_F_SERIAL")
        }
        exam.services.holdingClock { compareThreads(make(size(7), 1)) }
    }

    private func compareThreads(_ items: [Item]) {
        let alone = prepare(items, .plain)
        // Output that depends on chance differs anyway.
        let isSteady = prepare(items, .plain).fingerprint == alone.fingerprint
        findings.doing("prepare() on four threads at once")
        let rounds = exam.amount(25, light: 3)
        Together.run(threads: 4) { _ in
            for _ in 0..<rounds {
                let made = prepare(items, .plain)
                let differs =
                    isSteady
                    ? made.fingerprint != alone.fingerprint
                    : made.result.status != alone.result.status
                        || made.requests.map(\.items) != alone.requests.map(\.items)
                if differs {
                    findings.fail(rules.threads, "beside others it gives other requests")
                }
            }
        }
    }
}
