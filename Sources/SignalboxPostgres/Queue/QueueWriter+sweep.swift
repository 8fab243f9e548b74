internal import SignalboxCore
internal import SignalboxThreads
internal import Synchronization

/// What the writer does now and then, in a transaction of others or in one of its own.
extension QueueWriter {
    /// Periodically sends this gateway's heartbeat, and asks who holds the blocks whose leases have expired.
    ///
    /// Until another gateway takes such a block over, the outcomes of its deliveries still count: after an outage of
    /// the database they come late.
    func sweep(_ group: Group, _ transaction: Transaction, nowUnixMs: Int64) {
        let now = SystemClock.monotonicNs
        let values = Parameters(life.number)
        if isLeaving {
            transaction.send(QueueSQL.leave, values)
            return
        }
        guard group.jobs.isEmpty || now > lastSweepNs + 5_000_000_000 else { return }
        lastSweepNs = now
        let ended = holdings.ended(beforeUnixMs: nowUnixMs)
        if !ended.isEmpty {
            group.ask(transaction, QueueSQL.heldBlocks, held(ended)) { rows in
                let marks = Self.marks(rows)
                group.effects.append { self.holdings.refresh(ended, marks) }
            }
        }
        beat(group, transaction, values, nowUnixMs: nowUnixMs)
        tellTakeovers(group, transaction, nowUnixMs: nowUnixMs)
    }

    /// Sends this gateway's heartbeat, and reads those of the others.
    private func beat(
        _ group: Group, _ transaction: Transaction, _ life: Parameters, nowUnixMs: Int64
    ) {
        var values = life
        values.add(shared.configuration)
        group.ask(transaction, QueueSQL.beat, values) { rows in
            self.shared.others.store(Int(rows.number(0, 0)), ordering: .relaxed)
            let all = rows.isNull(0, 1) ? nil : rows.text(0, 1)
            group.effects.append {
                guard let notice = self.differences.heard(all, nowUnixMs: nowUnixMs) else { return }
                self.options.onNotice(notice)
            }
        }
    }

    private func tellTakeovers(_ group: Group, _ transaction: Transaction, nowUnixMs: Int64) {
        let lost = takeovers.due(nowUnixMs: nowUnixMs)
        guard !lost.isEmpty else { return }
        let lives = Parameters(lost.keys.sorted())
        group.ask(transaction, QueueSQL.names, lives) { rows in
            let names = (0..<rows.count).map { (rows.number($0, 0), rows.text($0, 1)) }
            group.effects.append {
                for (life, name) in names {
                    self.options.onNotice(.tookOver(count: lost[life] ?? 0, from: name))
                }
                self.takeovers.told(lost.keys, nowUnixMs: nowUnixMs)
            }
        }
    }
}
