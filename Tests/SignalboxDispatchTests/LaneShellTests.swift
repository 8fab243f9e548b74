import SignalboxCore
import Synchronization
import Testing

@testable import SignalboxDispatch

/// What a lane's shell asks of store and plugin, with the simulation's store and providers.
@Suite struct LaneShellTests {
    /// A gateway with one lane, a healthy provider and a fast store.
    private static func world() -> (SimWorld, SimProvider) {
        let world = SimWorld(seed: 4, lanes: 1)
        return (world, world.providers[0])
    }

    @Test func `when the provider is back, nothing waits for its own time`() {
        let (world, provider) = Self.world()
        provider.mood = .down
        for _ in 0..<10 { world.submit(to: provider) }
        // Long enough for waits of half a minute.
        world.clock.run(untilMs: 300_000)
        #expect(world.lanes.first?.hold?.cause == .down)
        let waiting = world.store.waiting.count
        #expect(waiting > 10)
        provider.mood = .well
        let hastenings = world.store.hastenings
        while world.lanes.first?.hold != nil, world.clock.now.steadyMs < 600_000 {
            world.clock.run(untilMs: world.clock.now.steadyMs + 10)
        }
        world.clock.run(untilMs: world.clock.now.steadyMs + 3_000)
        #expect(world.store.waiting.isEmpty)
        // Deliveries that were tried would wait up to half a minute each.
        #expect(world.store.hastenings == hastenings + 1)
    }

    @Test func `how long a plugin has been at a call is known meanwhile, and nothing afterwards`() {
        let (world, provider) = Self.world()
        let seen = Mutex<UInt64>(0)
        provider.whenOffered {
            world.clock.pass(ms: 40_000)
            seen.withLock { $0 = world.lanes.first?.turnMs ?? 0 }
        }
        world.submit(to: provider)
        world.clock.run(untilMs: 60_000)
        #expect(seen.withLock { $0 } == 40_000)
        #expect(world.lanes.first?.turnMs == 0)
    }

    @Test func `a store out of reach for longer than a lease stops the lane, and nothing is lost`()
    {
        let (world, provider) = Self.world()
        provider.mood = .hangs
        for _ in 0..<5 { world.submit(to: provider) }
        world.clock.run(untilMs: 1_500)
        #expect(world.gateways[0].inMemory > 0)
        world.store.trouble(failures: 1, delayMs: 5)
        provider.mood = .well
        // The requests end, but the outcomes cannot be reported.
        world.clock.run(untilMs: 120_000)
        #expect(world.lanes.allSatisfy { $0.count == 0 })
        world.store.trouble(failures: 0, delayMs: 5)
        world.clock.run(untilMs: 300_000)
        #expect(world.store.waiting.isEmpty && world.gateways[0].inMemory == 0)
        #expect(world.gateways[0].faults.isEmpty)
    }
}
