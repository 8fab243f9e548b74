internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads

/// The source role: events that a plugin takes in by itself.
enum SourceSteps {
    static let all = [
        CheckStep(
            name: "source-run",
            rules: [.sourceResume, .sourceEvents, .sourceTokens, .sourcePause, .sourceBlocks],
            seconds: 30, role: SBX_ROLE_SOURCE, run: run)
    ]

    /// How long to wait for a source's first batch: without its bus it never sends one.
    private static let patienceMs: UInt64 = 2_000
    private static let batchesMax = 2

    private static func run(_ exam: Examination) {
        guard let plugin = exam.plugin, let raw = plugin.role(SBX_ROLE_SOURCE, sbx_source.self),
            let subject = exam.started()
        else { return }
        defer { subject.end() }
        let (table, batches) = (Tables.source(raw), subject.probe.batches)
        var hasEmitted = false
        // The second round with AGAIN, as while the disk is full; the others with OK.
        for round in 0..<3 {
            exam.findings.doing("resume(), round \(round + 1)")
            let before = batches.count
            batches.open(batchesMax: batchesMax)
            let resumed = timed(exam, "resume()") {
                subject.call(.control, "resume()") { _, error in
                    table.resume(subject.raw, UInt32(batchesMax), error)
                }
            }
            guard resumed.isOK else {
                batches.close()
                return refused(resumed, exam)
            }
            let deadline = SystemClock.monotonicNs + patienceMs * 1_000_000
            if batches.came(after: before, deadlineNs: deadline) { hasEmitted = true }
            settle(batches.takeUndecided(), isStored: round != 1, table, subject)
            exam.findings.doing("pause(), round \(round + 1)")
            let paused = timed(exam, "pause()") {
                subject.call(.control, "pause()") { _, error in table.pause(subject.raw, error) }
            }
            if !paused.isOK {
                exam.findings.fail(.sourceResume, "pause() answers \(paused.text)")
            }
            batches.close()
            settle(batches.takeUndecided(), isStored: round != 1, table, subject)
        }
        if !hasEmitted {
            for rule in [CheckRule.sourceEvents, .sourceTokens, .sourceBlocks] {
                exam.findings.leave(rule, "nothing was emitted within \(patienceMs / 1_000) s")
            }
        }
        // What is emitted now is a fault.
        _ = batches.came(
            after: batches.count, deadlineNs: SystemClock.monotonicNs + 200_000_000)
    }

    /// Without its bus or its account a source may fail to resume, and nothing more can be seen of it.
    private static func refused(_ resumed: CallResult, _ exam: Examination) {
        guard [SBX_E_AUTH, SBX_E_UNREACHABLE].contains(resumed.status) else {
            exam.findings.fail(.sourceResume, "resume() answers \(resumed.text)")
            return
        }
        for rule in [CheckRule.sourceEvents, .sourceTokens, .sourcePause, .sourceBlocks] {
            exam.findings.leave(rule, "resume() answers \(resumed.text)")
        }
    }

    private static func timed(
        _ exam: Examination, _ name: String, _ body: () -> CallResult
    ) -> CallResult {
        let began = SystemClock.monotonicNs
        let result = body()
        let tookMs = (SystemClock.monotonicNs - began) / 1_000_000
        if tookMs > 5_000, !exam.order.isLight {
            exam.findings.fail(.sourceResume, "\(name) took \(tookMs) ms")
        }
        return result
    }

    private static func settle(
        _ tokens: [UInt64], isStored: Bool, _ table: sbx_source, _ subject: Subject
    ) {
        guard !tokens.isEmpty else { return }
        let results = tokens.map { token in
            sbx_batch_result(
                token: token, isStored ? .stored(count: 1, repeated: 0) : .again(afterMs: 10))
        }
        _ = subject.call(.worker, "settled()") { _, _ in
            results.withUnsafeBufferPointer { results in
                table.settled(
                    subject.raw, results.baseAddress, results.count,
                    MemoryLayout<sbx_batch_result>.stride)
            }
            return SBX_OK
        }
    }
}
