internal import DequeModule
internal import NIOCore
internal import SignalboxCore

/// What a pool's clients take back, and what they are told.
extension PoolCore {
    func withdraw(_ client: PoolClient) {
        takeBackMoved()
        returnWaiting(of: client, as: .withdrawn)
        report()
    }

    func returnWaiting(of client: PoolClient, as fault: TransportFault) {
        waiting.removeAll { slot in
            guard slots[slot]?.batch.client === client else { return false }
            fail(slot, fault)
            return true
        }
    }

    /// A client sends nothing more: what waits ends with `refusal`, and what is in flight has until the deadline.
    /// `isLast`: there is no other, so the connections close.
    func leave(
        _ client: PoolClient, as refusal: TransportFault, isLast: Bool, deadlineMs: Int?,
        done: @escaping @Sendable () -> Void
    ) {
        client.refusal = refusal
        takeBackMoved()
        returnWaiting(of: client, as: refusal)
        if isLast {
            onStopped = done
            wakeTimer?.task.cancel()
            waitTimer?.task.cancel()
            perform(state.stop())
            // What becomes of a connection that is being opened is nobody's concern.
            if deadlineMs == nil { closeConnecting() }
        } else {
            client.onOver = done
        }
        report()
        end(client)
        if isLast, connections.isEmpty { return finishStop() }
        guard let deadlineMs, isLast || !client.isOver else { return }
        eventLoop.assumeIsolatedUnsafeUnchecked().scheduleTask(
            in: .milliseconds(Int64(deadlineMs))
        ) {
            if isLast {
                for id in self.connections.keys.sorted() { self.close(id, reason: "stopping") }
            } else {
                self.giveUp(client)
            }
        }
    }

    private func closeConnecting() {
        for id in connections.keys.sorted() where state.isConnecting(id) {
            close(id, reason: "the endpoint changed")
        }
    }

    /// The deadline of a client that has left the others: nobody waits for what it has in flight.
    private func giveUp(_ client: PoolClient) {
        for slot in slots.indices {
            guard let entry = slots[slot], entry.batch.client === client, let id = entry.connection,
                !entry.flight.isOverdue
            else { continue }
            endWaiting(slot, .lost, "stopping")
            state.gaveUp(id)
        }
        report()
    }

    /// Reports a request that was sent; its stream stays open for a late answer.
    func endWaiting(_ slot: Int, _ fault: TransportFault, _ detail: String = "") {
        guard let entry = slots[slot] else { return }
        slots[slot]?.flight.isOverdue = true
        add(fault, detail, to: entry)
    }

    private func end(_ client: PoolClient) {
        guard let done = client.onOver, client.openCount == 0 else { return }
        client.onOver = nil
        client.isOver = client.refusal == .stopping
        done()
    }

    func fail(_ slot: Int, _ fault: TransportFault, _ detail: String = "") {
        guard let entry = free(slot) else { return }
        add(fault, detail, to: entry)
    }

    private func add(_ fault: TransportFault, _ detail: String, to entry: Slot) {
        let items = entry.batch.items(of: entry.request)
        add(PushResult(items: items, fault: fault, detail: detail), for: entry.batch.client)
    }

    func add(_ result: PushResult, for client: PoolClient) {
        guard !client.isOver else { return }
        if !result.isLate { client.openCount -= 1 }
        if client.results.isEmpty { reporting.append(client) }
        client.results.append(result)
    }

    /// Frees a slot; returns what it held.
    @discardableResult
    func free(_ slot: Int) -> Slot? {
        guard let entry = slots[slot].take() else { return nil }
        freeSlots.append(slot)
        return entry
    }

    func report() {
        guard !reporting.isEmpty else { return }
        for client in reporting {
            let group = client.results
            client.results = []
            client.onResults(group)
            end(client)
        }
        reporting.removeAll(keepingCapacity: true)
    }

    func finishStop() {
        guard connections.isEmpty, let done = onStopped else { return }
        onStopped = nil
        deadlineTimer?.cancel()
        done()
    }
}
