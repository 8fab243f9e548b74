internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The observe role: how deliveries ended.
enum ObserveSteps {
    static let all = [
        CheckStep(
            name: "observe", rules: [.observeBlocks, .observeAnswers], seconds: 60,
            role: SBX_ROLE_OBSERVE, run: run)
    ]

    /// How long an answer may take when the plugin's server is missing.
    private static let patienceMs: UInt64 = 15_000

    private static func run(_ exam: Examination) {
        guard let plugin = exam.plugin,
            let raw = plugin.role(SBX_ROLE_OBSERVE, sbx_observe.self),
            let subject = exam.started()
        else { return }
        defer { subject.end() }
        let table = Tables.observe(raw)
        var first: UInt64 = 1
        for wanted in [1, 7, 500] {
            let most = table.max_batch > 0 ? min(wanted, Int(table.max_batch)) : wanted
            let batch = (0..<most).map { first + UInt64($0) * 3 }.map { sequence in
                (sequence, outcome(sequence, subject: "order/\(sequence)"))
            }
            guard observe(batch, table, subject, exam) else { return }
            first += UInt64(most) * 3
        }
        for text in MadeUp.oddTokens {
            guard observe([(first, outcome(first, subject: text))], table, subject, exam) else {
                return
            }
            first += 1
        }
    }

    private static func outcome(_ sequence: UInt64, subject: String) -> [UInt8] {
        var json: [UInt8] = Array(#"{"sequence":\#(sequence),"result":"delivered","subject":"#.utf8)
        JSONValue.write(string: subject, to: &json)
        return json + Array(#","user":"u-1","route":"orders","attempts":1}"#.utf8)
    }

    /// Hands over a batch and waits for its answer. False if no answer came: further batches would fail the same way.
    private static func observe(
        _ batch: [(sequence: UInt64, json: [UInt8])], _ table: sbx_observe, _ subject: Subject,
        _ exam: Examination
    ) -> Bool {
        exam.findings.doing("observe() of \(batch.count) outcomes")
        guard let last = batch.last?.sequence else { return true }
        let before = subject.probe.answers.count
        let began = SystemClock.monotonicNs
        let result = subject.call(.worker, "observe()") { arena, error in
            let list = arena.array(sbx_observation.self, count: batch.count)
            for (index, one) in batch.enumerated() {
                list[index].struct_size = UInt32(MemoryLayout<sbx_observation>.size)
                list[index].sequence = one.sequence
                list[index].json = arena.bytes(one.json)
            }
            return table.observe(
                subject.raw, list, batch.count, MemoryLayout<sbx_observation>.stride, error)
        }
        let tookMs = (SystemClock.monotonicNs - began) / 1_000_000
        if tookMs > 100, !exam.order.isLight {
            exam.findings.fail(.observeBlocks, "observe() of \(batch.count) took \(tookMs) ms")
        }
        // A failing status is the answer.
        guard result.isOK else { return true }
        let answers = subject.probe.answers.answers(
            to: last, deadlineNs: SystemClock.monotonicNs + patienceMs * 1_000_000)
        if answers.count != 1 || subject.probe.answers.count != before + 1 {
            exam.findings.fail(
                .observeAnswers,
                answers.isEmpty
                    ? "done() was not called for a batch within \(patienceMs / 1_000) s"
                    : "done() was called more than once, or with another sequence than the batch's")
        }
        return !answers.isEmpty
    }
}
