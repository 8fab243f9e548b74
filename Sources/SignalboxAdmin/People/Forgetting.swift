internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway

/// Removes what the store has about a user.
///
/// Stores the order that ends waiting deliveries first, so that it covers events being routed meanwhile. If a step
/// fails, repeating the request does the rest.
struct Forgetting: Sendable {
    let store: any GatewayStore
    let pauses: PauseOrders
    let lanes: LaneTable
    /// What tells others that devices are gone.
    let reports: @Sendable ([DeviceChange]) -> [DeviceReport]
    let clock: @Sendable () -> UInt64

    /// What was removed.
    struct Result: Sendable {
        var devices = 0
        var badges = 0
        /// Deliveries that will be ended when their turn comes.
        var waiting = 0
        var deadLetters = 0
        var events = 0
        /// Deliveries in flight, which can no longer be recalled.
        var inFlight = 0

        var json: JSONValue {
            let removed: [(String, Int)] = [
                ("devices", devices), ("badges", badges), ("waiting", waiting),
                ("dead_letters", deadLetters), ("events", events),
            ]
            return [
                "removed": .object(removed.map { .init($0.0, .integer(Int64($0.1))) }),
                "in_flight": .integer(Int64(inFlight)),
            ]
        }
    }

    /// nil if there are too many orders.
    func run(_ user: UserKey) async throws -> Result? {
        let search = PersonSearch(user, in: store, pauses)
        var out = Result()
        out.waiting = try await search.waiting().count
        guard try await pauses.forget(user) else { return nil }
        if user.app.isEmpty { try await pauses.removeOrders(about: user.user) }
        lanes.applyPauses(pauses)
        var order = CancelOrder(beforeUnixMs: clock() + 1)
        order.user = user.user
        if !user.app.isEmpty { order.app = user.app }
        out.inFlight = lanes.all.reduce(0) { $0 + $1.inFlight(coveredBy: order) }

        let devices = try await search.devices().map(\.device)
        out.badges = try await store.badges(of: user).count
        let now = clock()
        let changes = devices.map {
            DeviceChange(kind: .unregistered, device: $0, timeUnixMs: now)
        }
        out.devices = try await store.unregister(
            devices, reports: reports(changes))
        out.deadLetters = try await purge(search.letters)
        out.events = try await removeHistory(search, tokens: devices.map(\.token))
        return out
    }

    private func purge(_ filter: DeadFilter) async throws -> Int {
        var (count, next) = (0, UInt64?.some(0))
        while let from = next {
            let part = try await store.purge(filter, fromID: from, limit: 1_000)
            count += part.count
            next = part.nextID
        }
        return count
    }

    private func removeHistory(_ search: PersonSearch, tokens: [String]) async throws -> Int {
        let person = try await search.history(tokens: tokens)
        var step = HistorySearch(person.tags)
        repeat {
            step.cursor = try await store.changeHistory(step) { person.without($0) }
        } while step.cursor != nil
        return person.eventCount
    }
}
