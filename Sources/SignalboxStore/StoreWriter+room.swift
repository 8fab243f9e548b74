internal import GRDB
internal import SignalboxThreads

/// The disk and the file that the writer needs.
extension StoreWriter {
    func hasRoom(_ db: Database) throws -> Bool {
        guard try room.look(db) else { return room.isEnough }
        gauges.diskFull.set(room.isEnough ? 0 : 1)
        let reserve = "\(StoreRoom.freeBytesMin >> 20) MiB"
        let way =
            gauges.waiting.value > 0
            ? "until waiting pushes are sent, or something else on it is removed"
            : "until something else on it is removed"
        options.onNotice(
            room.isEnough
                ? .diskHasRoom("\(files.path): the disk has room again, events are stored")
                : .diskFull(
                    "\(files.path): the disk has less than its reserve of \(reserve) left, events are "
                        + "refused with 503 \(way)"))
        return room.isEnough
    }

    /// Outside of a transaction, where the log can be given back, and even when no requests arrive.
    func lookForRoom(_ db: Database) {
        do {
            let now = SystemClock.monotonicNs
            guard try !hasRoom(db), now > gaveWayNs + 1_000_000_000 else { return }
            gaveWayNs = now
            try HistoryTables.giveWay(tables.hot, db)
        } catch {
            // The next round checks again.
            return
        }
    }

    /// Whether the path still leads to the file that is open.
    func lookForFile(_ db: Database) {
        let isGone = files.hasMoved(db)
        guard isGone != (gauges.fileGone.value > 0) else { return }
        gauges.fileGone.set(isGone ? 1 : 0)
        options.onNotice(
            isGone
                ? .fileGone(
                    "\(files.path) or its -wal was removed or replaced while the gateway has it open: events are refused "
                        + "with 503, and outcomes are lost when the gateway stops; put the file back, or "
                        + "restart")
                : .fileIsBack("\(files.path) is back"))
    }
}
