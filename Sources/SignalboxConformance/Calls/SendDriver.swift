internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Calls the send role.
///
/// `@unchecked Sendable`: the table is only read, and kept deliveries are locked.
final class SendDriver: @unchecked Sendable {
    let subject: Subject
    let app: String
    private let table: sbx_send
    /// What the plugin has accepted stays readable until the examination releases the driver.
    private let kept = Mutex<[Kept]>([])

    private struct Kept: @unchecked Sendable {
        let arena: CArena
        let shaper: Shaper
    }

    init(subject: Subject, app: String, table: sbx_send) {
        self.subject = subject
        self.app = app
        self.table = table
    }

    /// The size of a call, at most `wanted`.
    func size(_ wanted: Int) -> Int {
        table.max_batch > 0 ? min(wanted, Int(table.max_batch)) : wanted
    }

    /// Offers deliveries. Returns how many were accepted, and how long it took.
    func submit(
        _ deliveries: [Delivery], shape: Shape = .plain
    ) -> (result: CallResult, taken: Int, tookMs: UInt64) {
        let memory = Kept(arena: CArena(), shaper: Shaper(shape))
        let (start, stride) = memory.shaper.deliveries(
            memory.arena.deliveries(deliveries), deliveries.count)
        kept.withLock { $0.append(memory) }
        subject.probe.flights.offer(deliveries.map(\.id))
        var taken = 0
        var tookMs: UInt64 = 0
        let result = subject.call(.worker, "submit()") { arena, error in
            let began = SystemClock.monotonicNs
            defer { tookMs = (SystemClock.monotonicNs - began) / 1_000_000 }
            return table.submit(
                subject.raw, arena.text(app), start, deliveries.count, stride, &taken, error)
        }
        if taken > deliveries.count {
            Findings.shared.fail(
                .sendSubmit, "submit() says that it took \(taken) of \(deliveries.count)")
            taken = deliveries.count
        }
        subject.probe.flights.giveBack(deliveries.dropFirst(taken).map(\.id))
        return (result, taken, tookMs)
    }
}
