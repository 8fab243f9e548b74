// Whether ThreadSanitizer says what it should: nothing of a contended lock, and something of a race.
//   probe lock|race
import Dispatch
import Synchronization

final class Counter: @unchecked Sendable {
    let locked = Mutex(0)
    var bare = 0
}

let counter = Counter()
let isLocked = CommandLine.arguments.dropFirst().first == "lock"
DispatchQueue.concurrentPerform(iterations: 8) { _ in
    for _ in 0..<20_000 {
        if isLocked { counter.locked.withLock { $0 += 1 } } else { counter.bare += 1 }
    }
}
print(isLocked ? counter.locked.withLock { $0 } : counter.bare)
