import Glibc
import SignalboxCore
import SignalboxPostgres
import SignalboxStore
import SignalboxThreads
import Synchronization

/// Measures the durable queue. The ratios to the disk's own fsync are what matters.
enum StoreBench {
    /// Appends events with two deliveries each, and settles them once they are committed.
    ///
    /// Returns events per second.
    static func throughput(at place: Place, events: Int, window: Int = 4_000) async throws -> Double
    {
        let store = try await open(place)
        let start = SystemClock.monotonicNs
        let flow = Flow(store: store, events: events, window: window)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            flow.run { continuation.resume() }
        }
        let seconds = Double(SystemClock.monotonicNs - start) / 1e9
        await store.close()
        guard flow.failureCount == 0 else {
            throw BenchFault(description: "\(flow.failureCount) events failed")
        }
        return Double(events) / seconds
    }

    /// Fills a store with deliveries that nobody leases.
    static func fill(at place: Place, deliveries: Int) async throws {
        let store = try await open(place)
        let partMax = 10_000
        for part in 0..<(deliveries / partMax) {
            let content = SharedNotification(note, receivedUnixMs: 0)
            let first = UInt64(part * (partMax + 1)) + 1
            let made = (0..<UInt64(partMax)).map { delivery(first + $0, content) }
            let item = StoreEntry.Item(event: event(first), deliveries: made)
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                store.append(StoreEntry(items: [item], receivedUnixMs: 1, dedupeMs: 0)) { _ in
                    continuation.resume()
                }
            }
        }
        await store.close()
    }

    /// Registers one device each for the users `u0`, `u1`, ....
    ///
    /// A device's token contains its user's number.
    static func register(at place: Place, devices: Int) async throws {
        let store = try await open(place)
        let partMax = 2_000
        for first in stride(from: 0, to: devices, by: partMax) {
            let changes = (first..<min(devices, first + partMax)).map { number in
                DeviceChange(
                    kind: .registered,
                    device: Device(
                        app: "com.example.app", platform: "ios",
                        token: SenderBench.token(number), user: "u\(number)"))
            }
            try await withCheckedThrowingContinuation { continuation in
                store.change(changes, reports: []) { continuation.resume(with: $0) }
            }
        }
        await store.close()
    }

    /// Looks up all of so many registered users a few times. Returns the milliseconds of the fastest pass.
    static func lookUps(at place: Place, users: Int) async throws -> Double {
        let store = try await open(place)
        let keys = (0..<users).map { UserKey(app: "com.example.app", user: "u\($0)") }
        var best = Double.infinity
        for _ in 0..<10 {
            let start = SystemClock.monotonicNs
            let found = try await withCheckedThrowingContinuation { continuation in
                store.devices(of: keys) { continuation.resume(with: $0) }
            }
            best = min(best, Double(SystemClock.monotonicNs - start) / 1e6)
            guard found.count == users, found.allSatisfy({ $0.count == 1 }) else {
                throw BenchFault(description: "the registry is not as it was filled")
            }
        }
        await store.close()
        return best
    }

    /// Opens a full store and leases its first part.
    ///
    /// Returns the time in milliseconds, the number of waiting deliveries, and the resident memory
    /// in MiB.
    static func resume(
        at place: Place
    ) async throws -> (ms: Double, waiting: Int, residentMiB: Double) {
        let start = SystemClock.monotonicNs
        let store = try await open(place)
        let wish = LeaseWish(max: 1_024, forMs: 60_000)
        let lease = try await withCheckedThrowingContinuation { continuation in
            store.lease(LaneKey(sender: "apns", app: ""), wish) {
                continuation.resume(with: $0)
            }
        }
        let ms = Double(SystemClock.monotonicNs - start) / 1e6
        let waiting = store.waitingCount
        let resident = residentMiB
        precondition(lease.deliveries.count == 1_024, "the store was not filled")
        await store.close()
        return (ms, waiting, resident)
    }

    /// The median time of an fsync of 4 KiB in a folder, in milliseconds.
    static func fsyncMs(folder: String) -> Double {
        mkdir(folder, 0o700)
        let file = Glibc.open("\(folder)/fsync", O_WRONLY | O_CREAT, 0o600)
        defer {
            close(file)
            unlink("\(folder)/fsync")
        }
        let page = [UInt8](repeating: 1, count: 4096)
        var times: [Double] = []
        for _ in 0..<200 {
            let start = SystemClock.monotonicNs
            _ = write(file, page, page.count)
            fdatasync(file)
            times.append(Double(SystemClock.monotonicNs - start) / 1e6)
        }
        return times.sorted()[100]
    }

    /// Resident memory of this process, in MiB.
    static var residentMiB: Double {
        guard let file = fopen("/proc/self/statm", "r") else { return 0 }
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        _ = fgets(&text, 256, file)
        let words = String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self
        )
        .split(separator: " ")
        let pages = words.count > 1 ? Int(words[1]) ?? 0 : 0
        return Double(pages * Int(sysconf(Int32(_SC_PAGESIZE)))) / 1_048_576
    }

    /// Where a store is.
    enum Place {
        case folder(String)
        case postgres(PostgresAddress)
    }

    private static func open(_ place: Place) async throws -> any GatewayStore {
        switch place {
        case .folder(let folder):
            return try SQLiteStore.open(
                SQLiteStore.Options(
                    folder: folder, nowUnixMs: { SystemClock.unixMs }, onNotice: { _ in }))
        case .postgres(let address):
            var options = PostgresOptions(address: address, owner: "bench", onNotice: { _ in })
            // More events at once than a gateway accepts while its store is behind.
            options.patienceMs = 60_000
            let made = options
            return try await SystemThread.value {
                Result { () throws(StoreError) in try PostgresStore.open(made) }
            }.get()
        }
    }

    static var note: PushNotification {
        var note = PushNotification()
        note.title = "Agent replied"
        note.body = "Agent replied something something"
        note.data = #"{"zendesk_sdk_request_id":"5","tid":"5"}"#
        note.priority = .high
        return note
    }

    static func event(_ id: UInt64) -> Event {
        Event(
            id: id, source: "zendesk", type: "ticket.replied", subject: "ticket/5",
            dedupe: "key-\(id)")
    }

    static func delivery(_ id: UInt64, _ content: SharedNotification) -> Delivery {
        Delivery(
            id: id, eventID: id, source: "zendesk", route: "support-replies", sender: "apns",
            stableID: "123e4567-e89b-42d3-a456-426614174000", deadlineUnixMs: 0, content: content,
            device: Device(
                platform: "ios",
                token: "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"))
    }
}

/// Keeps a number of events in flight.
private final class Flow: Sendable {
    private struct State {
        var next = 0
        var done = 0
        var end: (@Sendable () -> Void)?
    }

    private let store: any GatewayStore
    private let events: Int
    private let window: Int
    private let failures = Atomic(0)
    private let state = Mutex(State())

    init(store: any GatewayStore, events: Int, window: Int) {
        self.store = store
        self.events = events
        self.window = window
    }

    func run(_ end: @escaping @Sendable () -> Void) {
        state.withLock { $0.end = end }
        for _ in 0..<window { start() }
    }

    private func start() {
        let number = state.withLock { state -> Int? in
            guard state.next < events else { return nil }
            state.next += 1
            return state.next
        }
        guard let number else { return }
        let id = UInt64(number * 4)
        let content = SharedNotification(StoreBench.note, receivedUnixMs: 0)
        let made = [StoreBench.delivery(id, content), StoreBench.delivery(id + 1, content)]
        let item = StoreEntry.Item(
            event: StoreBench.event(id + 2), deliveries: made, taken: [id, id + 1])
        store.append(
            StoreEntry(items: [item], receivedUnixMs: SystemClock.unixMs, dedupeMs: 60_000)
        ) { answer in
            guard case .committed(let commit) = answer else { return self.fail() }
            self.store.settle(
                [.delivered(id), .delivered(id + 1)], under: commit.token, outcomes: OutcomePack()
            ) { result in
                (try? result.get()) == LeaseRefusal() ? self.finish() : self.fail()
            }
        }
    }

    private func fail() {
        failures.wrappingAdd(1, ordering: .relaxed)
        finish()
    }

    /// Events that were not committed, or not settled.
    var failureCount: Int { failures.load(ordering: .relaxed) }

    private func finish() {
        let end = state.withLock { state -> (@Sendable () -> Void)? in
            state.done += 1
            return state.done == events ? state.end : nil
        }
        if let end { end() } else { start() }
    }
}
