internal import Synchronization

/// Waits that end, whatever they wait for.
public enum Within {
    /// What `body` returns, or nil after so many milliseconds; `body` then continues in the background.
    public static func value<Value: Sendable>(
        ms: UInt64, _ body: @escaping @Sendable () async -> Value
    ) async -> Value? {
        await withCheckedContinuation { continuation in
            let first = First(continuation)
            let timer = Task {
                try? await Task.sleep(for: .milliseconds(ms))
                if !Task.isCancelled { first.resume(nil) }
            }
            Task {
                let value = await body()
                timer.cancel()
                first.resume(value)
            }
        }
    }

    /// Resumes a continuation once.
    private final class First<Value: Sendable>: Sendable {
        private let continuation: Mutex<CheckedContinuation<Value?, Never>?>

        init(_ continuation: CheckedContinuation<Value?, Never>) {
            self.continuation = Mutex(continuation)
        }

        func resume(_ value: Value?) {
            let taken = continuation.withLock { known in
                defer { known = nil }
                return known
            }
            taken?.resume(returning: value)
        }
    }
}
