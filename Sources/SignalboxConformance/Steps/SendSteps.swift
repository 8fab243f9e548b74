internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The send role: a plugin's own transport.
enum SendSteps {
    static let all = [
        CheckStep(
            name: "send-submit",
            rules: [.sendOutcomes, .sendSubmit, .sendBlocks, .sendReasons], seconds: 60,
            role: SBX_ROLE_SEND, run: submit),
        CheckStep(
            name: "send-stop", rules: [.sendStop], seconds: 20, role: SBX_ROLE_SEND, run: stop),
        CheckStep(
            name: "send-threads", rules: [.sendThreads], seconds: 60, role: SBX_ROLE_SEND,
            run: threads),
    ]

    /// How long outcomes may take when the transport has no working peer.
    private static let patienceMs: UInt64 = 15_000

    private static func submit(_ exam: Examination) {
        guard let driver = exam.sender() else { return }
        defer { driver.subject.end() }
        let made = MadeUp(samples: exam.samples, nowUnixMs: exam.services.nowUnixMs)
        var first = 1
        for wanted in [1, 7, exam.amount(512, light: 32)] {
            let count = driver.size(wanted)
            exam.findings.doing("submit() of \(count) deliveries")
            settle(driver, made.deliveries(count, first: first), exam)
            // What hangs once would hang again.
            if hangs(exam) { return }
            first += 1_000
        }
        for (index, odd) in exam.oddDeliveries().enumerated() {
            exam.findings.doing("submit() with \(odd.name)")
            var delivery = odd.item
            delivery.id = UInt64(10_000 + index)
            settle(driver, [delivery], exam)
            if hangs(exam) { return }
        }
    }

    private static func hangs(_ exam: Examination) -> Bool {
        exam.findings.hasFailed(.sendOutcomes) || exam.findings.hasFailed(.sendSubmit)
    }

    /// Offers deliveries until all are accepted, and waits for their outcomes.
    private static func settle(
        _ driver: SendDriver, _ deliveries: [Delivery], _ exam: Examination
    ) {
        var left = deliveries[...]
        let deadline = SystemClock.monotonicNs + patienceMs * 1_000_000
        while !left.isEmpty {
            let credits = driver.subject.probe.flights.credits
            let offered = Array(left)
            let (result, taken, tookMs) = driver.submit(offered)
            if tookMs > 100, !exam.order.isLight {
                exam.findings.fail(
                    .sendBlocks, "submit() of \(offered.count) took \(tookMs) ms")
            }
            if !result.isOK, result.status != -5 {
                exam.findings.fail(.sendSubmit, "submit() answers \(result.text)")
                return
            }
            if result.status == -5, taken > 0 {
                exam.findings.fail(.sendSubmit, "submit() answers AGAIN and took \(taken)")
            }
            left = left.dropFirst(taken)
            guard !left.isEmpty else { break }
            guard
                driver.subject.probe.flights.creditCame(after: credits, deadlineNs: deadline)
            else {
                exam.findings.fail(
                    .sendSubmit,
                    "submit() took \(taken) of \(offered.count), and no credit() came within "
                        + "\(patienceMs / 1000) s")
                return
            }
        }
        let open = driver.subject.probe.flights.settled(deadlineNs: deadline)
        if !open.isEmpty {
            exam.findings.fail(
                .sendOutcomes,
                "\(open.count) of \(deliveries.count) deliveries had no outcome after "
                    + "\(patienceMs / 1000) s")
        }
        let outcomes = driver.subject.probe.flights.takeOutcomes()
        OutcomeRules.check(outcomes, .sendReasons, exam.findings)
        for outcome in outcomes {
            driver.subject.watch(outcome.reason, "a reason of complete()")
            driver.subject.watch(outcome.detail, "a detail of complete()")
        }
    }

    private static func stop(_ exam: Examination) {
        for count in [1, exam.amount(200, light: 10)] {
            guard let driver = exam.sender() else { return }
            let made = MadeUp(samples: exam.samples, nowUnixMs: exam.services.nowUnixMs)
            exam.findings.doing("stop() with \(count) deliveries on their way")
            _ = driver.submit(made.deliveries(driver.size(count)))
            let began = SystemClock.monotonicNs
            let isStopped = driver.subject.stop(withinMs: 3_000)
            let tookMs = (SystemClock.monotonicNs - began) / 1_000_000
            guard isStopped else {
                exam.findings.fail(
                    .sendStop,
                    "stop() with deliveries on their way did not end within 3 s (\(tookMs) ms)")
                return
            }
            let seen = driver.subject.probe.flights.takeOutcomes().count
            _ = driver.subject.probe.flights.settled(
                deadlineNs: SystemClock.monotonicNs + 200_000_000)
            let late = driver.subject.probe.flights.takeOutcomes().count
            if late > 0 {
                exam.findings.fail(
                    .sendStop, "\(late) outcomes came after stop() had returned (\(seen) before)")
            }
            driver.subject.destroy()
        }
    }

    private static func threads(_ exam: Examination) {
        guard let driver = exam.sender() else { return }
        defer { driver.subject.end() }
        if exam.plugin?.library.isSerial == true {
            exam.findings.skip(.sendThreads, "the plugin is SBX_F_SERIAL")
        }
        if hangs(exam) {
            exam.findings.leave(.sendThreads, "deliveries of one thread had no outcome")
            return
        }
        let made = MadeUp(samples: exam.samples, nowUnixMs: exam.services.nowUnixMs)
        exam.findings.doing("submit() on four threads at once")
        let rounds = exam.amount(10, light: 2)
        Together.run(threads: 4) { thread in
            for round in 0..<rounds {
                let first = 20_000 + (thread * rounds + round) * 10
                let (result, _, _) = driver.submit(
                    made.deliveries(driver.size(5), first: first))
                if !result.isOK, result.status != -5 {
                    exam.findings.fail(.sendThreads, "submit() answers \(result.text)")
                }
            }
        }
        let open = driver.subject.probe.flights.settled(
            deadlineNs: SystemClock.monotonicNs + patienceMs * 1_000_000)
        if !open.isEmpty {
            exam.findings.fail(.sendThreads, "\(open.count) deliveries had no outcome")
        }
    }
}

extension Examination {
    /// A started instance with its send role.
    func sender(isNewer: Bool = false) -> SendDriver? {
        guard let plugin, let raw = plugin.role(SBX_ROLE_SEND, sbx_send.self),
            let subject = started(isNewer: isNewer)
        else { return nil }
        return SendDriver(
            subject: subject, app: samples.app,
            table: Tables.send(raw))
    }
}
