import Foundation
import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Lanes, a store and providers in virtual time, with faults by chance: deterministic, so that a seed that fails
/// fails again. `SIGNALBOX_SEED=N swift test --filter LaneSimulation` runs that seed alone.
@Suite struct LaneSimulationTests {
    static let seeds: [UInt64] = {
        let given = ProcessInfo.processInfo.environment["SIGNALBOX_SEED"].flatMap { UInt64($0) }
        if let given { return [given] }
        let first = UInt64.random(in: 1...1_000_000_000)
        return (0..<300).map { first + $0 }
    }()

    @Test func `every delivery ends exactly once, whatever happens on the way`() {
        for seed in Self.seeds {
            let faults = Self.faults(seed: seed)
            if !faults.isEmpty {
                Issue.record("SIGNALBOX_SEED=\(seed): \(faults.joined(separator: "\n"))")
            }
        }
    }

    @Test func `a seed decides everything`() {
        let one = Self.run(seed: 7)
        let other = Self.run(seed: 7)
        #expect(one.store.ends == other.store.ends)
        #expect(one.providers.map(\.sent) == other.providers.map(\.sent))
        #expect(one.clock.now == other.clock.now)
    }

    private static func faults(seed: UInt64) -> [String] {
        let gateway = run(seed: seed)
        return gateway.faults + judge(gateway)
    }

    /// Two minutes of trouble, then everything is well for an hour.
    private static func run(seed: UInt64) -> SimGateway {
        let gateway = SimGateway(seed: seed, lanes: 4)
        let clock = gateway.clock
        for _ in 0..<30 {
            clock.outside(ms: clock.dice(120_000)) {
                gateway.submit(to: gateway.providers[Int(clock.dice(4))])
            }
        }
        for _ in 0..<12 { clock.outside(ms: clock.dice(120_000)) { trouble(gateway) } }
        clock.run(untilMs: clock.now.steadyMs + 130_000)
        for provider in gateway.providers { provider.mood = .well }
        gateway.store.trouble(failures: 0, delayMs: 5)
        clock.run(untilMs: clock.now.steadyMs + 3_600_000)
        return gateway
    }

    private static func trouble(_ gateway: SimGateway) {
        let clock = gateway.clock
        let provider = gateway.providers[Int(clock.dice(4))]
        switch clock.dice(10) {
        case 0: gateway.die()
        case 1: gateway.replace(provider)
        case 2: clock.setWall(byMs: Int64(clock.dice(1_200_000)) - 600_000)
        case 3: gateway.store.trouble(failures: 0.3, delayMs: 500)
        case 4: gateway.store.trouble(failures: 0, delayMs: 5)
        case 5:
            // A storm.
            for _ in 0..<12 { gateway.submit(to: provider) }
        case 6:
            for lane in gateway.lanes.sorted(by: { $0.number < $1.number }) {
                lane.credentialsChanged()
            }
        default:
            let moods = SimProvider.Mood.allCases
            provider.mood = moods[Int(clock.dice(UInt64(moods.count)))]
        }
        gateway.check()
    }

    /// What must hold at the end.
    private static func judge(_ gateway: SimGateway) -> [String] {
        var faults: [String] = []
        let (ends, attempts) = (gateway.store.ends, gateway.store.attempts)
        for id in gateway.store.waiting {
            faults.append("\(id) is stranded:\(gateway.clock.story(of: id))")
        }
        if gateway.clock.inMemory != 0 { faults.append("in memory: \(gateway.clock.inMemory)") }
        for lane in gateway.lanes {
            if lane.count != 0 || !lane.isIdle { faults.append("\(lane.key) is not idle") }
            if lane.hold != nil { faults.append("\(lane.key) is held") }
        }
        // A late answer to a lane that was replaced does not reach its successor.
        let excused = Set(
            gateway.providers.filter { gateway.replaced.contains($0.key) }.flatMap(\.unknown.keys))
        for (id, count) in gateway.ledger.finals where count != 1 && !excused.contains(id) {
            faults.append("\(id) ended \(count) times:\(gateway.clock.story(of: id))")
        }
        for (id, count) in attempts where count > SimGateway.policy.retries {
            faults.append("\(id) was tried \(count + 1) times")
        }
        for provider in gateway.providers {
            let isAtMostOnce = provider.key.app == "a3"
            for (id, count) in provider.taken {
                let doubts = isAtMostOnce && gateway.deaths == 0 ? 0 : provider.unknown[id] ?? 0
                if count > 1 + doubts { faults.append("\(id) was pushed \(count) times") }
                if case .dead(let why) = ends[id], provider.unknown[id] == nil {
                    faults.append("\(id) was pushed and is dead: \(why)")
                }
            }
        }
        let taken = Set(gateway.providers.flatMap(\.taken.keys))
        for (id, end) in ends {
            if end == .delivered, !taken.contains(id) { faults.append("\(id) was never pushed") }
        }
        return faults
    }
}
