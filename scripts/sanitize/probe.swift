// Whether ThreadSanitizer says what it should: nothing of a contended lock, and something of a race.
//   probe lock|race
import Glibc
import Synchronization

final class Counter: @unchecked Sendable {
    let locked = Mutex(0)
    var bare = 0
}

let counter = Counter()
let isLocked = CommandLine.arguments.dropFirst().first == "lock"
// Threads of its own: a queue runs all of it on one thread while the machine is busy.
var threads = [pthread_t](repeating: pthread_t(), count: 4)
for index in threads.indices {
    pthread_create(
        &threads[index], nil,
        { _ in
            for _ in 0..<40_000 {
                if isLocked { counter.locked.withLock { $0 += 1 } } else { counter.bare += 1 }
            }
            return nil
        }, nil)
}
for thread in threads { pthread_join(thread, nil) }
print(isLocked ? counter.locked.withLock { $0 } : counter.bare)
