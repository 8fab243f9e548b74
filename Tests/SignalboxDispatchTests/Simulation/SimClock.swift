import SignalboxCore
import SignalboxDispatch
import Synchronization

/// Virtual time and all future jobs, in an order that a seed decides.
///
/// One thread runs the whole simulation. Jobs that are due in the same millisecond run in any
/// order, as they would on many threads.
final class SimClock: Sendable {
    private struct Job {
        var atMs: UInt64
        var order: UInt64
        /// The process that the job belongs to; jobs of a dead process are skipped.
        var life: Life?
        var run: @Sendable () -> Void

        func isBefore(_ other: Job) -> Bool {
            (atMs, order) < (other.atMs, other.order)
        }
    }

    /// One life of a process.
    struct Life: Equatable {
        var process: Int
        var number: Int
    }

    private struct State {
        var steadyMs: UInt64 = 1_000
        /// How far the wall clock is ahead of the steady clock.
        var wallAheadMs: UInt64 = 1_700_000_000_000
        /// The latest time that the wall clock showed before it was set.
        var latestUnixMs: UInt64 = 0
        var random: SplitMix
        /// A heap with the next job first.
        var jobs: [Job] = []
        /// The current life of each process.
        var lives: [Int: Int] = [:]
        /// Processes that are stopped (SIGSTOP), with the end of the stop.
        var stopped: [Int: UInt64] = [:]
        /// What happened to each delivery; id 0: to all of them.
        var story: [(id: UInt64, words: String)] = []
    }

    private let state: Mutex<State>

    init(seed: UInt64) { state = Mutex(State(random: SplitMix(state: seed))) }

    var now: LaneTime {
        state.withLock {
            LaneTime(unixMs: $0.steadyMs + $0.wallAheadMs, steadyMs: $0.steadyMs)
        }
    }

    /// Lets time pass in the middle of a job.
    func pass(ms: UInt64) { state.withLock { $0.steadyMs += ms } }

    func random() -> Double { Double(dice(1 << 20)) / Double(1 << 20) }

    /// A random number in 0..<sides.
    func dice(_ sides: UInt64) -> UInt64 { state.withLock { $0.random.next() % max(1, sides) } }

    func chance(_ share: Double) -> Bool { random() < share }

    /// Records what happened to a delivery, to explain a failing seed.
    func note(_ id: UInt64, _ words: String) {
        state.withLock { $0.story.append((id, "\($0.steadyMs): \(words)")) }
    }

    /// What happened to a delivery, and to all of them.
    func story(of id: UInt64) -> String {
        state.withLock { state in
            state.story.filter { $0.id == id || $0.id == 0 }.map { "\n    \($0.words)" }.joined()
        }
    }

    /// Adds a job of a process's life.
    ///
    /// It runs if that life lasts, and not while the process is stopped.
    func later(ms: UInt64, of life: Life, _ job: @escaping @Sendable () -> Void) {
        state.withLock { Self.add(job, ms, life, &$0) }
    }

    /// Adds a job that runs whatever happens to the process.
    func outside(ms: UInt64, _ job: @escaping @Sendable () -> Void) {
        state.withLock { Self.add(job, ms, nil, &$0) }
    }

    private static func add(
        _ job: @escaping @Sendable () -> Void, _ ms: UInt64, _ life: Life?, _ state: inout State
    ) {
        let order = state.random.next()
        state.jobs.append(
            Job(atMs: state.steadyMs + ms, order: order, life: life, run: job))
        var place = state.jobs.count - 1
        while place > 0, state.jobs[place].isBefore(state.jobs[(place - 1) / 2]) {
            state.jobs.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    private static func next(_ state: inout State, untilMs end: UInt64) -> Job? {
        while let first = state.jobs.first, first.atMs <= end {
            state.jobs.swapAt(0, state.jobs.count - 1)
            state.jobs.removeLast()
            var place = 0
            while true {
                var least = place
                for child in [2 * place + 1, 2 * place + 2]
                where child < state.jobs.count && state.jobs[child].isBefore(state.jobs[least]) {
                    least = child
                }
                guard least != place else { break }
                state.jobs.swapAt(place, least)
                place = least
            }
            if let life = first.life {
                guard state.lives[life.process] == life.number else { continue }
                let goesOnMs = state.stopped[life.process] ?? 0
                guard goesOnMs <= first.atMs else {
                    add(first.run, goesOnMs - state.steadyMs, life, &state)
                    continue
                }
            }
            state.steadyMs = max(state.steadyMs, first.atMs)
            return first
        }
        return nil
    }

    /// Sets the wall clock; the steady clock continues.
    func setWall(byMs delta: Int64) {
        state.withLock {
            $0.latestUnixMs = max($0.latestUnixMs, $0.steadyMs + $0.wallAheadMs)
            $0.wallAheadMs = UInt64(Int64($0.wallAheadMs) + delta)
        }
    }

    /// Whether a later time was shown before the clock was set back.
    func wasAhead(of unixMs: UInt64) -> Bool { state.withLock { unixMs < $0.latestUnixMs } }

    /// Begins a new life of a process; the jobs of the previous one are skipped.
    func begin(_ process: Int) -> Life {
        state.withLock { state in
            state.lives[process, default: 0] += 1
            state.stopped[process] = nil
            return Life(process: process, number: state.lives[process] ?? 0)
        }
    }

    func isCurrent(_ life: Life) -> Bool {
        state.withLock { $0.lives[life.process] == life.number }
    }

    /// Stops the process for a time, without its noticing.
    func stop(_ process: Int, ms: UInt64) {
        state.withLock { $0.stopped[process] = $0.steadyMs + ms }
    }

    func isStopped(_ process: Int) -> Bool {
        state.withLock { $0.stopped[process] ?? 0 > $0.steadyMs }
    }

    /// Runs all jobs that are due until then.
    func run(untilMs end: UInt64) {
        while let job = state.withLock({ Self.next(&$0, untilMs: end) }) { job.run() }
        state.withLock { $0.steadyMs = max($0.steadyMs, end) }
    }
}

/// Time and threads of one life of a process.
final class SimProcess: LaneClock {
    private struct State {
        var alarms: [Int: UInt64] = [:]
        var inMemory = 0
    }

    let clock: SimClock
    let life: SimClock.Life
    private let state = Mutex(State())

    init(_ clock: SimClock, _ process: Int) {
        self.clock = clock
        life = clock.begin(process)
    }

    var now: LaneTime { clock.now }
    var inMemory: Int { state.withLock { $0.inMemory } }

    func random() -> Double { clock.random() }

    func later(ms: UInt64, _ job: @escaping @Sendable () -> Void) {
        clock.later(ms: ms, of: life, job)
    }

    func run(_ job: @escaping @Sendable () -> Void) { later(ms: clock.dice(3), job) }

    func wake(lane: Int, inMs ms: UInt64, _ ring: @escaping @Sendable () -> Void) {
        let number = state.withLock { state in
            state.alarms[lane, default: 0] += 1
            return state.alarms[lane]
        }
        later(ms: ms) { [self] in
            if state.withLock({ $0.alarms[lane] == number }) { ring() }
        }
    }

    func after(ms: UInt64, _ ring: @escaping @Sendable () -> Void) { later(ms: ms, ring) }

    func adjust(inMemory delta: Int) { state.withLock { $0.inMemory += delta } }
}
