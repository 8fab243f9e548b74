internal import SignalboxThreads

/// Runs the same body on several threads at once.
enum Together {
    /// Starts the threads together and waits for all of them.
    static func run(threads: Int, _ body: @escaping @Sendable (Int) -> Void) {
        struct State {
            var ready = 0
            var done = 0
        }
        let gate = Gate(State())
        for index in 0..<threads {
            SystemThread.start("sbx-check") {
                gate.updateAll { $0.ready += 1 }
                gate.wait(for: { $0.ready == threads ? () : nil })
                body(index)
                gate.updateAll { $0.done += 1 }
            }
        }
        gate.wait(for: { $0.done == threads ? () : nil })
    }
}
