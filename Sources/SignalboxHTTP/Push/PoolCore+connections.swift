internal import NIOCore
internal import SignalboxCore

/// What the connections of a pool tell it.
extension PoolCore: PushConnectionOwner {
    func connectionReady(_ connection: PushConnection, peerMax: Int) {
        gate.connected()
        if let address = addresses[connection.id] { served(at: address) }
        state.connected(connection.id, peerMax: peerMax)
        onEvent(
            PushPoolEvent(
                kind: .connected, connection: connection.id, text: "",
                waiting: waiting.count + moved.count))
        if state.isStopping { perform(state.drain(connection.id)) }
    }

    func connectionSettings(_ connection: PushConnection, peerMax: Int) {
        state.settings(connection.id, peerMax: peerMax)
    }

    func connectionGoAway(_ connection: PushConnection, reason: String) {
        onEvent(PushPoolEvent(kind: .goAway, connection: connection.id, text: reason))
        perform(state.drain(connection.id))
    }

    func connectionWritability(_ connection: PushConnection, isWritable: Bool) {
        state.writability(connection.id, isWritable)
        if isWritable { work() }
    }

    func connection(_ connection: PushConnection, ended slot: Int, _ end: StreamEnd) {
        let entry = slot >= 0 ? slots[slot] : nil
        let flight = entry?.flight
        let status: UInt32? =
            switch end {
            case .answered(let response): response.status
            case .failed(let fault, _): fault == .reset ? 0 : nil
            case .moved: nil
            }
        perform(
            state.ended(
                connection.id, flight, status: status, nowNs: connection.lastReadNs))
        guard let entry, let flight else { return }
        let client = entry.batch.client
        if case .answered = end {
            client.onAnswer(connection.lastReadNs - min(connection.lastReadNs, flight.sentNs))
        }
        if flight.isOverdue { return late(slot, end, client) }
        switch end {
        case .answered(let response):
            free(slot)
            add(PushResult(response), for: client)
        case .failed(let fault, let words): fail(slot, fault, words)
        case .moved(let isRefused):
            if let refusal = client.refusal { return fail(slot, refusal) }
            // A GOAWAY concerns the connection, not the request.
            if isRefused, entry.refusals >= Self.refusalsMax {
                return fail(slot, .unreachable, "the peer refused the stream each time")
            }
            slots[slot]?.connection = nil
            if isRefused { slots[slot]?.refusals += 1 }
            moved.append(slot)
        }
    }

    /// Ends a request that was reported as timed out; only an answer gets a second result.
    private func late(_ slot: Int, _ end: StreamEnd, _ client: PoolClient) {
        free(slot)
        guard case .answered(let response) = end else { return }
        add(PushResult(response, isLate: true), for: client)
    }

    func connectionReadComplete(_ connection: PushConnection) {
        report()
        work()
    }

    func connectionClosed(_ connection: PushConnection, wasReady: Bool, reason: String) {
        guard connections.removeValue(forKey: connection.id) != nil else { return }
        if wasReady {
            let time = now
            let address = addresses.removeValue(forKey: connection.id)
            if state.closed(connection.id, nowNs: time, random: Double.random(in: 0..<1)) {
                gate.failed(wasConnected: true, nowNs: time)
                note(failure: reason, at: address)
                if let address { failed(at: address) }
            }
            let kind: PushPoolEvent.Kind = reason == "no answer to PING" ? .pingTimeout : .closed
            onEvent(PushPoolEvent(kind: kind, connection: connection.id, text: reason))
            if state.isStopping { finishStop() }
            work()
        } else {
            connectFailed(connection.id, reason)
        }
    }
}
