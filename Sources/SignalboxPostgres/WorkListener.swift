internal import SignalboxCore
internal import SignalboxTables
internal import SignalboxThreads

/// Listens for work from other gateways, on a connection and a thread of its own.
///
/// A notification can be lost, with its connection or because the database sends none: then this looks for lanes with
/// work itself. The gateway looks every ten seconds in any case.
final class WorkListener: Sendable {
    private struct State {
        var isClosing = false
        var isClosed = false
    }

    /// How often it looks without notices.
    private static let pollMs: Int32 = 1_000

    private let state = Gate(State())

    init(
        _ options: PostgresOptions, _ life: Life, _ watcher: Watcher<[LaneKey]>,
        _ outboxWatcher: Watcher<Void>
    ) {
        let state = state
        SystemThread.start("sbx-listen") {
            let run = Run(options, life, watcher, outboxWatcher)
            var pauses = Pauses()
            while !state.update({ $0.isClosing }) {
                do throws(PostgresFault) {
                    guard try run.connect() else { continue }
                    pauses = Pauses()
                    while !state.update({ $0.isClosing }) { try run.turn() }
                } catch {
                    run.disconnect()
                    let until = SystemClock.monotonicNs + pauses.nextNs()
                    state.wait(until: { state in
                        (state.isClosing || SystemClock.monotonicNs >= until ? () : nil, until)
                    })
                }
            }
            run.disconnect()
            state.updateAll { $0.isClosed = true }
        }
    }

    /// Ends the thread, and waits for that.
    func close() async {
        state.updateAll { $0.isClosing = true }
        await SystemThread.value { self.state.wait(for: { $0.isClosed ? () : nil }) }
    }

    /// What the thread does.
    private final class Run {
        private let options: PostgresOptions
        private let life: Life
        private let watcher: Watcher<[LaneKey]>
        private let outboxWatcher: Watcher<Void>
        private let connector: Connector
        private var link: PostgresLink?
        private var lanes = LaneNumbers()
        private var isListening = false

        init(
            _ options: PostgresOptions, _ life: Life, _ watcher: Watcher<[LaneKey]>,
            _ outboxWatcher: Watcher<Void>
        ) {
            self.options = options
            self.life = life
            self.watcher = watcher
            self.outboxWatcher = outboxWatcher
            connector = Connector(options.address, usesNames: options.usesNames)
        }

        private var soon: UInt64 { SystemClock.monotonicNs + Session.statementsMaxNs }

        /// False until the connection is there.
        func connect() throws(PostgresFault) -> Bool {
            let untilNs = SystemClock.monotonicNs + UInt64(WorkListener.pollMs) * 1_000_000
            guard let made = try connector.link(byNs: untilNs) else { return false }
            link = made
            isListening = false
            if options.hasNotices {
                do throws(PostgresFault) {
                    _ = try made.run(Statement("", "LISTEN signalbox"), byNs: soon)
                    isListening = true
                } catch {
                    guard error.kind == .refused else { throw error }
                }
            }
            // What was told while there was no connection.
            try look(made)
            return true
        }

        func disconnect() { link = nil }

        func turn() throws(PostgresFault) {
            guard let link else { return }
            var given: Set<LaneKey> = []
            for notice in try link.notices(forMs: WorkListener.pollMs) {
                let parts = notice.split(separator: ":", maxSplits: 1)
                guard parts.count == 2, Int64(parts[0]) != life.number else { continue }
                if parts[1] == "o" {
                    outboxWatcher.tell(())
                } else {
                    try given.formUnion(lanes(parts[1], link))
                }
            }
            if !given.isEmpty { watcher.tell(given.sorted()) }
            if !isListening { try look(link) }
        }

        private func lanes(
            _ text: Substring, _ link: PostgresLink
        ) throws(PostgresFault) -> [LaneKey] {
            let numbers = text.split(separator: ",").compactMap { Int64($0) }
            if numbers.contains(where: { lanes.keys[$0] == nil }) {
                try lanes.learn([], link, byNs: soon)
            }
            return numbers.compactMap { lanes.keys[$0] }
        }

        private func look(_ link: PostgresLink) throws(PostgresFault) {
            var values = Parameters()
            let now = try link.run(
                Statement(
                    "now", "SELECT \(ClockSQL.nowMs)"),
                byNs: soon
            ).number(0, 0)
            values.add(now)
            let rows = try link.run(QueueSQL.dueLanes, values, byNs: soon)
            let lanes = (0..<rows.count).map { LaneKey(rows, $0, from: 0) }
            if !lanes.isEmpty { watcher.tell(lanes.sorted()) }
        }
    }
}
