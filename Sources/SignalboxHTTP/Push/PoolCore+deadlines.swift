internal import DequeModule
internal import NIOCore
internal import NIOPosix
internal import SignalboxCore

/// When requests that wait, or that were sent, end.
extension PoolCore {
    func addDeadline(_ time: UInt64, _ slot: Int, _ generation: UInt64) {
        let entry = RequestDeadlines.Entry(
            ns: time + timeoutNs, slot: slot, generation: generation)
        deadlines.add(entry, placeCount: slots.count) {
            slots[$0.slot]?.generation != $0.generation
        }
    }

    func armDeadline() {
        guard deadlineTimer == nil, let first = deadlines.first else { return }
        deadlineTimer = timer(first.ns) { core in
            core.deadlineTimer = nil
            core.expireSent()
        }
    }

    /// Reports time-outs, and stops waiting for late answers.
    func expireSent() {
        let time = now
        var touched: Set<UInt64> = []
        while let first = deadlines.first, first.ns <= time {
            deadlines.removeFirst()
            guard let entry = slots[first.slot], entry.generation == first.generation,
                let id = entry.connection
            else { continue }
            if entry.flight.isOverdue {
                connections[id]?.abandon(slot: first.slot)
                touched.insert(id)
                free(first.slot)
            } else {
                endWaiting(first.slot, .timeout)
                // The same deadline as that of a request sent now, so the order is kept.
                addDeadline(time, first.slot, first.generation)
                perform(state.timedOut(id, entry.flight))
            }
        }
        for id in touched { connections[id]?.flush() }
        // Entries of answered requests remain; drop those at the front.
        while let first = deadlines.first, slots[first.slot]?.generation != first.generation {
            deadlines.removeFirst()
        }
    }

    /// The latest time to send a request that was submitted at `submittedNs`: after one request
    /// time-out if nothing is answered; later while the peer answers other requests.
    func waitEndNs(_ submittedNs: UInt64) -> UInt64 {
        min(lastEndNs(submittedNs), max(submittedNs, state.lastAnswerNs) + timeoutNs)
    }

    func lastEndNs(_ submittedNs: UInt64) -> UInt64 {
        submittedNs + min(Self.waitFactor * timeoutNs, Self.waitMaxNs)
    }

    func armWait() {
        guard let first = waiting.first, let entry = slots[first] else { return }
        let end = waitEndNs(entry.batch.submittedNs)
        guard end < waitTimer?.ns ?? .max else { return }
        waitTimer?.task.cancel()
        waitTimer = (
            end,
            timer(end) { core in
                core.waitTimer = nil
                core.expireWaiting()
            }
        )
    }

    func expireWaiting() {
        let time = now
        let fault: TransportFault = state.isFailing ? .unreachable : .timeoutUnsent
        var hasExpired = false
        waiting.removeAll { slot in
            guard let entry = slots[slot] else { return true }
            guard time >= waitEndNs(entry.batch.submittedNs) else { return false }
            fail(slot, fault, failure)
            hasExpired = true
            return true
        }
        if hasExpired { perform(state.starved()) }
    }
}
