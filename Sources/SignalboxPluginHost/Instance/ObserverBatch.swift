internal import CSignalbox
internal import SignalboxCore
internal import Synchronization

/// The batch that an observer has not answered yet.
///
/// It has no place in the instance's gate of calls: a stop does not wait for the other side, and the batch comes again.
final class ObserverBatch: Sendable {
    private struct Open {
        /// Which call it is: the same batch may come again.
        var number: UInt64
        var last: UInt64
        var done: @Sendable (ObserveVerdict) -> Void
    }

    private let open = Mutex<(current: Open?, number: UInt64)>((nil, 0))

    /// Most time for an answer.
    static let patienceMs: UInt64 = 60_000

    /// A batch is handed over. Returns the number of the call.
    func begin(last: UInt64, done: @escaping @Sendable (ObserveVerdict) -> Void) -> UInt64 {
        open.withLock { open in
            open.number += 1
            open.current = Open(number: open.number, last: last, done: done)
            return open.number
        }
    }

    /// The time for an answer is up. Whether it was still open; then its batch comes again.
    func isLate(_ number: UInt64) -> Bool {
        guard let done = close({ $0.number == number }) else { return false }
        done(.later(afterMs: 0, reason: "timeout"))
        return true
    }

    /// The plugin answers.
    func done(_ last: UInt64, _ verdict: ObserveVerdict) {
        close { $0.last == last }?(verdict)
    }

    /// The instance has stopped: nobody will answer.
    func end() { close { _ in true }?(.later(afterMs: 0, reason: "stopping")) }

    private func close(
        _ isMeant: (Open) -> Bool
    ) -> (@Sendable (ObserveVerdict) -> Void)? {
        open.withLock { open in
            guard let current = open.current, isMeant(current) else { return nil }
            open.current = nil
            return current.done
        }
    }
}

extension ObserveVerdict {
    /// A status of the contract.
    init(_ status: sbx_status, retryAfterMs: UInt64) {
        let name = PluginFault.Kind(rawValue: status).map { "\($0)" } ?? "internal"
        self =
            switch status {
            case SBX_OK: .taken
            case SBX_E_AGAIN, SBX_E_UNREACHABLE, SBX_E_TIMEOUT, SBX_E_LOST, SBX_E_STOPPING:
                .later(afterMs: retryAfterMs, reason: name)
            default: .refused(reason: name)
            }
    }
}
