import SignalboxCore
import SignalboxThreads
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// Which of the events under way ended a process.
@Suite struct EventTrialTests {
    private typealias Answer = Result<Int, WorkEnd>

    private static func event(_ subject: String) -> Event {
        Event(source: "z", type: "t", subject: subject)
    }

    private static func isGuilty(_ answer: Answer) -> Bool {
        if case .failure(.guilty) = answer { true } else { false }
    }

    private static func isLost(_ answer: Answer) -> Bool {
        if case .failure(.lost) = answer { true } else { false }
    }

    @Test func `one that was under way by chance is cleared, and the cause is found`() {
        let trial = EventTrial(waitMs: 1_000)
        let lost: () -> Answer = { .failure(.lost(isAlone: false)) }
        let alone: () -> Answer = { .failure(.lost(isAlone: true)) }
        for subject in ["bad", "good"] {
            #expect(Self.isLost(trial.ask(Self.event(subject), route: "r", lost)))
        }
        #expect((try? trial.ask(Self.event("good"), route: "r") { .success(1) }.get()) == 1)
        #expect(Self.isLost(trial.ask(Self.event("bad"), route: "r", alone)))
        #expect(Self.isGuilty(trial.ask(Self.event("bad"), route: "r", alone)))
        // From here on nobody asks; on another route it is another question.
        #expect(Self.isGuilty(trial.ask(Self.event("bad"), route: "r") { .success(2) }))
        #expect((try? trial.ask(Self.event("bad"), route: "s") { .success(3) }.get()) == 3)
    }

    @Test func `after ten minutes it is asked about again`() {
        let now = Mutex<UInt64>(1_000)
        let trial = EventTrial(waitMs: 1_000, clock: { now.withLock { $0 } })
        for _ in 0..<2 {
            _ = trial.ask(Self.event("bad"), route: "r") { Answer.failure(.lost(isAlone: true)) }
        }
        #expect(Self.isGuilty(trial.ask(Self.event("bad"), route: "r") { .success(1) }))
        now.withLock { $0 += 600_000 }
        #expect((try? trial.ask(Self.event("bad"), route: "r") { .success(1) }.get()) == 1)
    }

    @Test func `a suspect is asked about when nothing else is, and nothing else then`() async {
        let trial = EventTrial(waitMs: 60_000)
        _ = trial.ask(Self.event("bad"), route: "r") { Answer.failure(.lost(isAlone: false)) }
        let order = Order()
        let mayEnd = Gate(false)
        func ask(_ subject: String, _ call: @escaping @Sendable () -> Void) async {
            _ = await SystemThread.value {
                trial.ask(Self.event(subject), route: "r") { () -> Answer in
                    order.add("\(subject) begins")
                    call()
                    order.add("\(subject) ends")
                    return .success(1)
                }
            }
        }
        async let good: Void = ask("good") {
            mayEnd.wait(until: { isOver in (isOver ? () : nil, nil) })
        }
        while order.steps.isEmpty { await Task.yield() }
        async let bad: Void = ask("bad") {}
        while trial.waitingCount == 0, order.steps.count == 1 { await Task.yield() }
        // One that comes now waits for the suspect.
        async let late: Void = ask("late") {}
        mayEnd.updateAll { $0 = true }
        _ = await (good, bad, late)
        let steps = order.steps
        #expect(steps.prefix(3) == ["good begins", "good ends", "bad begins"], "\(steps)")
        #expect(steps[3] == "bad ends", "\(steps)")
    }

    private final class Order: Sendable {
        private let state = Mutex<[String]>([])
        var steps: [String] { state.withLock { $0 } }
        func add(_ step: String) { state.withLock { $0.append(step) } }
    }
}
