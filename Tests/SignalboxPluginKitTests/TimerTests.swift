import PluginRig
import SignalboxPluginHost
import SignalboxPluginKit
import Synchronization
import Testing

/// The kit's timers on a host with virtual time.
@Suite struct TimerTests {
    let services = RigServices(nowUnixMs: 1_000)

    /// Counts how often a closure ran; released with the last closure that holds it.
    private final class Runs: Sendable {
        let count = Atomic<Int>(0)
        func add() { count.add(1, ordering: .relaxed) }
        var value: Int { count.load(ordering: .relaxed) }
    }

    @Test func `a timer runs once, and not before its time`() async throws {
        let (instance, host) = try await Rig.probe(services, isVirtual: true)
        let runs = Runs()
        #expect(host.after(ms: 10) { runs.add() } != nil)
        services.advance(ms: 9)
        #expect(runs.value == 0)
        services.advance(ms: 1)
        services.advance(ms: 100)
        #expect(runs.value == 1)
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a cancelled timer never runs, and lets go of its closure`() async throws {
        let (instance, host) = try await Rig.probe(services, isVirtual: true)
        weak var held: Runs?
        do {
            let runs = Runs()
            held = runs
            let timer = host.after(ms: 10) { runs.add() }
            timer?.cancel()
            timer?.cancel()
            #expect(timer != nil)
            services.advance(ms: 100)
            #expect(runs.value == 0)
        }
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(held == nil)
    }

    @Test func `a timer may cancel itself while it runs`() async throws {
        let (instance, host) = try await Rig.probe(services, isVirtual: true)
        let own = Mutex<Host.Timer?>(nil)
        let runs = Runs()
        let timer = host.after(ms: 10) {
            own.withLock { $0 }?.cancel()
            runs.add()
        }
        own.withLock { $0 = timer }
        services.advance(ms: 10)
        #expect(runs.value == 1)
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a timer that outlives its instance lets go of its closure`() async throws {
        weak var held: Runs?
        do {
            let (instance, host) = try await Rig.probe(services, isVirtual: true)
            let runs = Runs()
            held = runs
            host.after(ms: 10) { runs.add() }
            #expect(await instance.stop(deadlineMs: 5_000))
            services.advance(ms: 100)
            #expect(runs.value == 0)
        }
        #expect(held == nil)
        var late: Host.Timer?
        do {
            let (instance, host) = try await Rig.probe(services, isVirtual: true)
            #expect(await instance.stop(deadlineMs: 5_000))
            late = host.after(ms: 1) {}
        }
        #expect(late == nil)
    }
}
