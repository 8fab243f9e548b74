import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxDispatch
@testable import StoreConformance

/// How a receiver gets the stream of outcomes.
@Suite struct OutcomeSendTests {
    private static let mine = OutcomeClaim(next: 5, isShared: false)

    private static func claimed(at nowMs: UInt64 = 10_000) -> OutcomeSendState {
        var state = OutcomeSendState(from: 5)
        #expect(state.step(nowMs: nowMs) == .claim)
        state.claimed(mine, askedMs: nowMs, nowMs: nowMs)
        return state
    }

    private static func batch(from first: UInt64, _ count: Int) -> OutcomeBatch {
        var batch = OutcomeBatch(from: first, wish: OutcomeWish())
        let pack = Session.pack(Array(first..<first + UInt64(count)))
        batch.add(OutcomeRow(first: first, count: count, bytes: pack.bytes))
        return batch
    }

    @Test func `new outcomes end the rest, and those that come during a read are read next`() {
        var state = Self.claimed()
        #expect(state.step(nowMs: 10_000) == .read(from: 5, countMax: OutcomeBatch.countMax))
        #expect(state.read(Self.batch(from: 5, 0), hasMore: false, nowMs: 10_000) == .nothing)
        #expect(state.step(nowMs: 10_000) == .wait(ms: OutcomeSendState.idleMs))
        #expect(state.wake() == true)
        #expect(state.step(nowMs: 10_100) == .read(from: 5, countMax: OutcomeBatch.countMax))
        // A commit during the read ends no wait, and is not overlooked.
        #expect(state.wake() == false)
        #expect(state.read(Self.batch(from: 5, 0), hasMore: false, nowMs: 10_100) == .nothing)
        #expect(state.step(nowMs: 10_100) == .read(from: 5, countMax: OutcomeBatch.countMax))
    }

    @Test func `batches that are not full keep a pace, and full ones do not wait`() {
        var state = Self.claimed()
        let batch = Self.batch(from: 5, 2)
        for (isFull, step) in [
            (false, OutcomeSendState.Step.wait(ms: OutcomeSendState.paceMs)),
            (true, .read(from: 7, countMax: OutcomeBatch.countMax)),
        ] {
            state = Self.claimed()
            _ = state.step(nowMs: 10_000)
            #expect(state.read(batch, hasMore: isFull, nowMs: 10_000) == .post)
            _ = state.answered(.taken, to: batch, nowMs: 10_000, unixMs: 1, random: 0)
            #expect(state.next == 7)
            #expect(state.step(nowMs: 10_000) == step)
            // A commit in the pace costs nobody a look.
            #expect(state.wake() == false)
        }
    }

    @Test func `a batch that is too large is halved, and a refusal waits for an operator`() {
        var state = Self.claimed()
        let batch = Self.batch(from: 5, 9)
        _ = state.read(batch, hasMore: false, nowMs: 10_000)
        let causes = state.answered(.tooLarge, to: batch, nowMs: 10_000, unixMs: 1, random: 0)
        #expect(causes.before == nil && causes.after == .throttled && state.next == 5)
        #expect(state.tryNow() == true)
        #expect(state.step(nowMs: 11_000) == .read(from: 5, countMax: 4))
        _ = state.read(batch, hasMore: false, nowMs: 11_000)
        _ = state.answered(.refused(reason: "401"), to: batch, nowMs: 11_000, unixMs: 2, random: 0)
        #expect(state.hold == .init(cause: .misconfigured, reason: "401", sinceUnixMs: 1))
        guard case .wait(let ms) = state.step(nowMs: 11_000) else {
            Issue.record("no wait"); return
        }
        #expect(ms > OutcomeSendState.paceMs)
        state.stop()
        #expect(state.step(nowMs: 11_000) == .stop)
    }

    @Test(arguments: 1...60)
    func `whatever fails, a receiver takes each outcome once and in order`(
        seed: UInt64
    ) async throws {
        var world = try await OutcomeWorld(seed: seed)
        for _ in 0..<400 { try await world.step() }
        world.isHealthy = true
        for _ in 0..<4_000 where world.taken.count < world.appended { try await world.step() }
        #expect(world.taken == Array(1...UInt64(world.appended)), "seed \(seed)")
        // Twice only what was under way when its gateway was killed, or lost its store.
        #expect(world.repeated <= world.batchesAtRisk * OutcomeWorld.batchMax, "seed \(seed)")
    }
}

/// Gateways that send one stream to one receiver, in virtual time.
private struct OutcomeWorld {
    private struct Gateway {
        var store: MemoryStore
        var state: OutcomeSendState
        var wakesMs: UInt64 = 0
    }

    private final class Time: Sendable {
        let unixMs = Mutex<UInt64>(1_000_000)
    }

    static let batchMax = 4
    private let time = Time()
    private let storage: MemoryStorage
    private var random: SplitMix
    private var gateways: [Gateway] = []
    /// What the receiver has answered 2xx, each once.
    private(set) var taken: [UInt64] = []
    private(set) var repeated = 0
    /// Batches whose position a kill or a fault of the store may have lost.
    private(set) var batchesAtRisk = 0
    private(set) var appended = 0
    var isHealthy = false

    init(seed: UInt64) async throws {
        random = SplitMix(state: seed)
        let time = time
        storage = MemoryStorage(MemoryStorage.Options { time.unixMs.withLock { $0 } })
        for owner in 0...Int.random(in: 0...1, using: &random) { try await start(owner) }
    }

    private var nowMs: UInt64 { time.unixMs.withLock { $0 } }

    private mutating func start(_ number: Int) async throws {
        let store = storage.open(owner: "\(number)")
        let next = try await store.setOutcomeReceivers(["crm"])["crm"] ?? 1
        let gateway = Gateway(store: store, state: OutcomeSendState(from: next))
        if number < gateways.count {
            gateways[number] = gateway
        } else {
            gateways.append(gateway)
        }
    }

    private mutating func chance(_ percent: Int) -> Bool {
        !isHealthy && Int.random(in: 0..<100, using: &random) < percent
    }

    /// Lets the gateway act whose turn comes first, after what happens around it.
    mutating func step() async throws {
        if chance(40) { try await append() }
        let number = gateways.indices.min { gateways[$0].wakesMs < gateways[$1].wakesMs } ?? 0
        let due = max(nowMs, gateways[number].wakesMs)
        time.unixMs.withLock { $0 = due }
        if chance(3) {
            batchesAtRisk += 1
            return try await start(number)
        }
        storage.fail(chance(8) ? "no disk" : nil)
        await act(number)
        storage.fail(nil)
    }

    private mutating func append() async throws {
        let count = Int.random(in: 1...3, using: &random)
        let number = Int.random(in: gateways.indices, using: &random)
        try await gateways[number].store.append(Session.pack(Array(0..<UInt64(count))))
        appended += count
        if gateways[number].state.wake() { gateways[number].wakesMs = nowMs }
    }

    private mutating func act(_ number: Int) async {
        let now = nowMs
        let store = gateways[number].store
        switch gateways[number].state.step(nowMs: now) {
        case .stop: return
        case .wait(let ms): gateways[number].wakesMs = now + ms
        case .claim:
            do {
                let claim = try await store.claimOutcomes(for: "crm", forMs: ClaimTerm.lastsMs)
                gateways[number].state.claimed(claim, askedMs: now, nowMs: now)
            } catch {
                gateways[number].state.claimFailed(nowMs: now)
            }
        case .read(let first, let countMax): await send(number, store, from: first, countMax)
        }
    }

    private mutating func send(
        _ number: Int, _ store: MemoryStore, from first: UInt64, _ countMax: Int
    ) async {
        let now = nowMs
        var batch = OutcomeBatch(
            from: first, wish: OutcomeWish(), countMax: min(countMax, Self.batchMax))
        do {
            for row in try await store.outcomes(from: first).rows { batch.add(row) }
        } catch {
            return gateways[number].state.readFailed(nowMs: now)
        }
        let reading = gateways[number].state.read(batch, hasMore: batch.isFull, nowMs: now)
        guard reading == .post else { return }
        // A request takes up to ten seconds, less than a claim has left.
        let after = now + UInt64.random(in: 1...(isHealthy ? 10 : 10_000), using: &random)
        let verdict = answer(batch)
        let unit = Double.random(in: 0..<1, using: &random)
        _ = gateways[number].state.answered(
            verdict, to: batch, nowMs: after, unixMs: after, random: unit)
        gateways[number].wakesMs = after
        guard verdict == .taken else { return }
        receive(batch.outcomes.map(\.sequence))
        do {
            try await store.outcomesTaken(by: "crm", next: batch.next)
        } catch {
            batchesAtRisk += 1
        }
    }

    private mutating func answer(_ batch: OutcomeBatch) -> OutcomeVerdict {
        if batch.count > 1, chance(10) { return .tooLarge }
        if chance(10) { return .later(.down, hintMs: 0, reason: "503", detail: "") }
        if chance(5) { return .later(.throttled, hintMs: 5_000, reason: "429", detail: "") }
        return chance(3) ? .refused(reason: "401") : .taken
    }

    private mutating func receive(_ sequences: [UInt64]) {
        for sequence in sequences {
            // Out of order, a number is missing or stands in the wrong place at the end.
            if taken.contains(sequence) { repeated += 1 } else { taken.append(sequence) }
        }
    }
}
