import Logging
import SignalboxCore
import SignalboxDispatch
import SignalboxHTTP
import SignalboxObservability
import SignalboxThreads

@testable import SignalboxAdmin
@testable import SignalboxGateway
@testable import StoreConformance

/// Calls of the admin listener over a store in memory, without a gateway.
struct AdminRig {
    static let nowUnixMs: UInt64 = 5_000
    let store: MemoryStore
    let pauses: PauseOrders
    private let paths: AdminPaths

    init() {
        let storage = MemoryStorage(MemoryStorage.Options { Self.nowUnixMs })
        let store = storage.open(owner: "one")
        let clock: @Sendable () -> UInt64 = { Self.nowUnixMs }
        let pauses = PauseOrders(
            store, alarms: AlarmClock(),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            gauge: Gauges("paused", "", ["kind", "name"]), clock: clock)
        let lanes = LaneTable(
            nowMs: clock, make: { _, _, _ in throw StoreFailure(message: "no lanes") },
            onRefused: { _, _, _ in })
        let names: @Sendable () -> KnownNames = {
            KnownNames(senders: ["apns", "fcm"], routes: ["replies"])
        }
        let forgetting = Forgetting(
            store: store, pauses: pauses, lanes: lanes,
            reports: { $0.map { DeviceReport(to: "crm", $0, eventID: 0) } }, clock: clock)
        let export = PersonExport(store: store, pauses: pauses, clock: clock)
        self.store = store
        self.pauses = pauses
        paths = AdminPaths(
            DeadAdmin(store: store, names: names).paths
                + PauseAdmin(pauses: pauses, lanes: lanes, names: names, clock: clock).paths
                + CancelAdmin(pauses: pauses, lanes: lanes, names: names, clock: clock).paths
                + PeopleAdmin(export: export, forgetting: forgetting).paths
                + RegistryAdmin(registry: store).paths)
    }

    func get(_ path: String, _ query: String = "") async -> (status: Int, json: JSONValue) {
        await ask(HTTPServerRequest(method: "GET", path: path, query: query))
    }

    func post(_ path: String, _ body: String) async -> (status: Int, json: JSONValue) {
        await ask(
            HTTPServerRequest(
                method: "POST", path: path, body: Array(body.utf8), remote: "127.0.0.1"))
    }

    private func ask(_ request: HTTPServerRequest) async -> (status: Int, json: JSONValue) {
        let answer: HTTPServerAnswer
        switch paths.find(request.method, request.path) {
        case .found(let path): answer = await path.answer(request)
        case .refused(let refusal): answer = refusal
        }
        return (answer.status, (try? JSONValue.parse(answer.body)) ?? .null)
    }

    /// Makes dead letters of a sender's deliveries.
    func bury(_ ids: [UInt64], sender: String = "apns", reason: String = "rejected") async throws {
        let lane = LaneKey(sender: sender, app: "")
        let items = ids.map {
            Session.item([Session.delivery($0, lane)], taken: [$0])
        }
        store.append(StoreEntry(items: items, receivedUnixMs: 1_000, dedupeMs: 0)) { _ in }
        let ends = ids.map { LeaseEnd.dead($0, reason: reason, Session.attempt(1, reason)) }
        try await withCheckedThrowingContinuation { continuation in
            store.settle(ends, under: store.token, outcomes: OutcomePack()) {
                continuation.resume(with: $0.map { _ in })
            }
        }
    }
}
