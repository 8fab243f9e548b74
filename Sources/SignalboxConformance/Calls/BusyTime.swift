internal import Glibc
internal import SignalboxThreads

/// How long a thread waits: the time that passes without what it works, and without what it could have worked, had the
/// machine had a processor for it.
enum BusyTime {
    /// Calls one function, and returns in addition for how many milliseconds it waited.
    static func waited<Result>(_ body: () -> Result) -> (Result, ms: UInt64) {
        let (busy, began) = (nanoseconds, SystemClock.monotonicNs)
        let result = body()
        let took = SystemClock.monotonicNs - began
        let worked = nanoseconds &- busy
        return (result, took > worked ? (took - worked) / 1_000_000 : 0)
    }

    /// The calling thread's time on processors and in the queue for them.
    private static var nanoseconds: UInt64 {
        let file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 0 }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 96)
        let count = read(file, &bytes, bytes.count)
        guard count > 0 else { return 0 }
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: " ").prefix(2)
            .reduce(0) { $0 &+ (UInt64($1) ?? 0) }
    }
}
