internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway

/// Finds what the store has about a user, for requests to see or erase it.
struct PersonSearch: Sendable {
    let store: any GatewayStore
    /// An empty app means all apps.
    let user: UserKey
    /// Users whose deliveries are already ended.
    let forgotten: ForgottenUsers

    init(_ user: UserKey, in store: any GatewayStore, _ pauses: PauseOrders) {
        self.user = user
        self.store = store
        forgotten = pauses.forgotten
    }

    func devices() async throws -> [RegisteredDevice] {
        try await store.devices(app: user.app, user: user.user)
    }

    /// Pushes that wait or are in flight. Searches the whole queue.
    func waiting() async throws -> [StoredDelivery] {
        var found: [UInt64: StoredDelivery] = [:]
        var place: String? = ""
        while let after = place {
            let part = try await store.waiting(of: user, after: after)
            for stored in part.found where stored.delivery.kind == .push {
                if !forgotten.covers(Self.dated(stored)) { found[stored.delivery.id] = stored }
            }
            place = part.next
        }
        return found.values.sorted { $0.delivery.id < $1.delivery.id }
    }

    /// A delivery from disk with the time its event was received.
    private static func dated(_ stored: StoredDelivery) -> Delivery {
        var delivery = stored.delivery
        let content = delivery.content
        delivery.content = SharedNotification(
            content.notification, eventType: content.eventType, eventKey: content.eventKey,
            receivedUnixMs: stored.receivedUnixMs)
        return delivery
    }

    var letters: DeadFilter {
        var filter = DeadFilter()
        filter.user = user.user
        if !user.app.isEmpty { filter.app = user.app }
        return filter
    }

    /// Dead letters, all of them.
    func deadLetters() async throws -> [DeadLetter] {
        let partMax = 1_000
        var found: [DeadLetter] = []
        while true {
            let from = found.last.map { $0.id + 1 } ?? 0
            let part = try await store.deadLetters(letters, fromID: from, limit: partMax)
            found += part
            if part.count < partMax { return found }
        }
    }

    /// The user's part of the history; `tokens`: of the user's devices.
    func history(tokens: [String]) async throws -> HistoryPerson {
        var person = HistoryPerson(user, tokens: tokens)
        var search = HistorySearch(person.tags)
        repeat {
            let page = try await store.history(search)
            for row in page.rows { person.learn(row) }
            search.cursor = page.next
        } while search.cursor != nil
        return person
    }
}
