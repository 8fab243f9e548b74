import Glibc
import SignalboxCore
import SignalboxStore
import SignalboxThreads
import Synchronization

/// Measures the durable queue. The ratios to the disk's own fsync are what matters.
enum StoreBench {
    /// Appends events with two deliveries each, and settles them once they are committed.
    ///
    /// Returns events per second.
    static func throughput(folder: String, events: Int) async throws -> Double {
        let store = try open(folder)
        let start = SystemClock.monotonicNs
        let flow = Flow(store: store, events: events)
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            flow.run { continuation.resume() }
        }
        let seconds = Double(SystemClock.monotonicNs - start) / 1e9
        await store.close()
        return Double(events) / seconds
    }

    /// Fills a store with deliveries that nobody leases.
    static func fill(folder: String, deliveries: Int) async throws {
        let store = try open(folder)
        let partMax = 10_000
        for part in 0..<(deliveries / partMax) {
            let content = SharedNotification(note)
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
    static func register(folder: String, devices: Int) async throws {
        let store = try open(folder)
        let partMax = 4_096
        for first in stride(from: 0, to: devices, by: partMax) {
            try await withThrowingTaskGroup { group in
                for number in first..<min(devices, first + partMax) {
                    group.addTask {
                        let device = Device(
                            app: "com.example.app", platform: "ios",
                            token: SenderBench.token(number), user: "u\(number)")
                        _ = try await store.register(device, isUnique: true)
                    }
                }
                try await group.waitForAll()
            }
        }
        await store.close()
    }

    /// Opens a full store and leases its first part.
    ///
    /// Returns the time in milliseconds, the number of waiting deliveries, and the resident memory
    /// in MiB.
    static func resume(
        folder: String
    ) async throws -> (ms: Double, waiting: Int, residentMiB: Double) {
        let start = SystemClock.monotonicNs
        let store = try open(folder)
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

    private static func open(_ folder: String) throws -> SQLiteStore {
        try SQLiteStore.open(
            SQLiteStore.Options(
                folder: folder, nowUnixMs: { SystemClock.unixMs }, onNotice: { _ in }))
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
    private static let windowMax = 4_000

    private struct State {
        var next = 0
        var done = 0
        var end: (@Sendable () -> Void)?
    }

    private let store: SQLiteStore
    private let events: Int
    private let state = Mutex(State())

    init(store: SQLiteStore, events: Int) {
        self.store = store
        self.events = events
    }

    func run(_ end: @escaping @Sendable () -> Void) {
        state.withLock { $0.end = end }
        for _ in 0..<Self.windowMax { start() }
    }

    private func start() {
        let number = state.withLock { state -> Int? in
            guard state.next < events else { return nil }
            state.next += 1
            return state.next
        }
        guard let number else { return }
        let id = UInt64(number * 4)
        let content = SharedNotification(StoreBench.note)
        let made = [StoreBench.delivery(id, content), StoreBench.delivery(id + 1, content)]
        let item = StoreEntry.Item(
            event: StoreBench.event(id + 2), deliveries: made, taken: [id, id + 1])
        store.append(
            StoreEntry(items: [item], receivedUnixMs: SystemClock.unixMs, dedupeMs: 60_000)
        ) { answer in
            guard case .committed(let commit) = answer else { return self.finish() }
            self.store.settle(
                [.delivered(id), .delivered(id + 1)], under: commit.token, outcomes: OutcomePack()
            ) { _ in self.finish() }
        }
    }

    private func finish() {
        let end = state.withLock { state -> (@Sendable () -> Void)? in
            state.done += 1
            return state.done == events ? state.end : nil
        }
        if let end { end() } else { start() }
    }
}
