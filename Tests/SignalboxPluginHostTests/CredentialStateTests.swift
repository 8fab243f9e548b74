import Testing

@testable import SignalboxPluginHost

/// The life of a credential, in virtual time.
@Suite struct CredentialStateTests {
    @Test func `there is none until the first refresh`() {
        let state = CredentialState(minIntervalMs: 1000)
        #expect(state.answer(nowMs: 0) == .again)
        #expect(state.refreshDueMs == 0)
    }

    @Test func `it serves until it expires and is renewed ahead of that`() {
        var state = CredentialState(minIntervalMs: 1000)
        state.succeed("a", refreshMs: 50_000, expiresMs: 60_000, nowMs: 100)
        #expect(state.answer(nowMs: 59_999) == .value("a"))
        #expect(state.answer(nowMs: 60_000) == .again)
        #expect(state.refreshDueMs == 50_000)
    }

    @Test func `a refusal renews it, but not too early`() {
        var state = CredentialState(minIntervalMs: 20_000)
        state.succeed("a", refreshMs: 50_000, expiresMs: 60_000, nowMs: 100)
        let early = state.refuse(nowMs: 20_000)
        #expect(!early)
        #expect(state.answer(nowMs: 20_000) == .value("a"))
        let late = state.refuse(nowMs: 20_100)
        #expect(late)
        #expect(state.answer(nowMs: 20_100) == .again)
        #expect(state.refreshDueMs == 20_100)
        state.succeed("b", refreshMs: 70_000, expiresMs: 0, nowMs: 20_200)
        #expect(state.answer(nowMs: .max - 1) == .value("b"))
    }

    @Test func `many refusals are one refresh`() {
        var state = CredentialState(minIntervalMs: 10)
        state.succeed("a", refreshMs: 50_000, expiresMs: 60_000, nowMs: 0)
        _ = state.refuse(nowMs: 100)
        _ = state.refuse(nowMs: 200)
        #expect(state.refreshDueMs == 100)
    }

    @Test func `failures back off and the old value serves on`() {
        var state = CredentialState(minIntervalMs: 10)
        state.succeed("a", refreshMs: 1_000, expiresMs: 100_000, nowMs: 0)
        var waits: [UInt64] = []
        var now: UInt64 = 1_000
        for _ in 0..<8 {
            state.fail(isHopeless: false, nowMs: now)
            waits.append(state.refreshDueMs - now)
            now = state.refreshDueMs
        }
        #expect(waits == [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
        #expect(state.answer(nowMs: 99_999) == .value("a"))
    }

    @Test func `a hopeless failure is tried again after longer and longer waits, or when asked`() {
        var state = CredentialState(minIntervalMs: 10)
        var waits: [UInt64] = []
        var now: UInt64 = 5
        for _ in 0..<6 {
            state.fail(isHopeless: true, nowMs: now)
            #expect(state.answer(nowMs: now + 1) == .refused)
            waits.append(state.refreshDueMs - now)
            now = state.refreshDueMs
        }
        #expect(waits == [30_000, 60_000, 120_000, 240_000, 300_000, 300_000])
        state.fail(isHopeless: true, nowMs: now)
        state.retry(nowMs: now + 7)
        #expect(state.refreshDueMs == now + 7)
        state.succeed("a", refreshMs: now + 50_000, expiresMs: 0, nowMs: now + 8)
        state.retry(nowMs: now + 9)
        #expect(state.refreshDueMs == now + 50_000)
    }

    @Test func `a value is not renewed in a loop`() {
        var state = CredentialState(minIntervalMs: 0)
        state.succeed("a", refreshMs: 0, expiresMs: 0, nowMs: 500)
        #expect(state.refreshDueMs == 1_500)
    }

    @Test func `once the clock went back, nothing waits for the time that was`() {
        let table = CredentialTable()
        _ = table.define("t", minIntervalMs: 20_000) { _, _, _ in 0 }
        let (ahead, back): (UInt64, UInt64) = (90_000_000, 3_600_000)
        #expect(!table.lookAtClock(nowMs: ahead))
        _ = table.set("t", value: "a", refreshMs: ahead + 50_000, expiresMs: 0, nowMs: ahead)
        #expect(table.due(nowMs: back).isEmpty)
        // Small steps are no news.
        #expect(!table.lookAtClock(nowMs: ahead - 9_000))
        #expect(table.lookAtClock(nowMs: back))
        #expect(table.due(nowMs: back).map(\.0) == ["t"])
        #expect(table.answer("t", nowMs: back) == .value("a"))
        _ = table.set("t", value: "b", refreshMs: back + 50_000, expiresMs: 0, nowMs: back)
        #expect(table.nextMs == back + 50_000)
        #expect(!table.lookAtClock(nowMs: back + 1))
    }
}
