import Testing

@testable import SignalboxThreads

@Suite struct AlarmsTests {
    @Test func `alarms ring in the order of their times, and each once`() {
        var alarms = Alarms<String>()
        let isFirst1 = alarms.set(1, atNs: 300, ring: "c")
        #expect(isFirst1)
        let isFirst2 = alarms.set(2, atNs: 100, ring: "a")
        #expect(isFirst2)
        let isFirst3 = alarms.set(3, atNs: 200, ring: "b")
        #expect(!isFirst3)
        #expect(alarms.nextNs == 100)
        let due4 = alarms.takeDue(nowNs: 99)
        #expect(due4.isEmpty)
        let due5 = alarms.takeDue(nowNs: 200)
        #expect(due5 == ["a", "b"])
        let due6 = alarms.takeDue(nowNs: 1_000)
        #expect(due6 == ["c"])
        let due7 = alarms.takeDue(nowNs: 1_000)
        #expect(due7.isEmpty)
        #expect(alarms.nextNs == nil)
    }

    @Test func `those of one time ring in the order in which they were set`() {
        var alarms = Alarms<Int>()
        for owner in 0..<50 { _ = alarms.set(owner, atNs: 7, ring: owner) }
        let due8 = alarms.takeDue(nowNs: 7)
        #expect(due8 == Array(0..<50))
    }

    @Test func `an alarm replaces the previous one of its owner, earlier or later`() {
        var alarms = Alarms<String>()
        _ = alarms.set(1, atNs: 100, ring: "early")
        let isFirst9 = alarms.set(1, atNs: 300, ring: "late")
        #expect(!isFirst9)
        let due10 = alarms.takeDue(nowNs: 200)
        #expect(due10.isEmpty)
        let isFirst11 = alarms.set(1, atNs: 250, ring: "between")
        #expect(isFirst11)
        let due12 = alarms.takeDue(nowNs: 400)
        #expect(due12 == ["between"])
        #expect(alarms.count == 0)
    }

    @Test func `replaced alarms do not fill the memory`() {
        var alarms = Alarms<UInt64>()
        for number in 0..<10_000 as Range<UInt64> {
            _ = alarms.set(Int(number % 3), atNs: 1_000_000 - number, ring: number)
        }
        #expect(alarms.count == 3)
        #expect(alarms.entryCount <= 3 * 2 + 65)
        let due13 = alarms.takeDue(nowNs: 1_000_000)
        #expect(due13 == [9_999, 9_998, 9_997])
    }

    @Test func `any order of setting and taking rings what a plain list would`() {
        var generator = SystemRandomNumberGenerator()
        let seed = generator.next()
        var random = seed
        func next(_ bound: UInt64) -> UInt64 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (random >> 33) % bound
        }
        var alarms = Alarms<Int>()
        var model: [Int: (at: UInt64, order: Int)] = [:]
        var now: UInt64 = 0
        for step in 0..<5_000 {
            if next(3) > 0 {
                let owner = Int(next(40))
                let at = now + next(100)
                _ = alarms.set(owner, atNs: at, ring: owner)
                model[owner] = (at, step)
            } else {
                now += next(60)
                let due = model.filter { $0.value.at <= now }
                    .sorted { ($0.value.at, $0.value.order) < ($1.value.at, $1.value.order) }
                for (owner, _) in due { model[owner] = nil }
                let due14 = alarms.takeDue(nowNs: now)
                #expect(due14 == due.map(\.key), "seed \(seed)")
            }
        }
    }
}

@Suite struct AlarmClockTests {
    @Test func `a time beyond all clocks is no fault and keeps nobody waiting`() async {
        let clock = AlarmClock()
        clock.after(ms: .max) {}
        clock.set(lane: 1, inMs: .max / 2) {}
        await withCheckedContinuation { continuation in
            clock.after(ms: 1) { continuation.resume() }
        }
        clock.stop()
    }

    @Test func `an earlier alarm wakes the thread that waits for a later one`() async {
        let clock = AlarmClock()
        clock.set(lane: 1, inMs: 3_600_000) {}
        await withCheckedContinuation { continuation in
            clock.set(lane: 2, inMs: 1) { continuation.resume() }
        }
        clock.stop()
    }
}
