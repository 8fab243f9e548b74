internal import CSignalbox
internal import Synchronization

/// Sinks that plugins write to, at addresses that stay valid forever.
///
/// A plugin may use a sink after its call is over, although the contract forbids it. So sinks are never
/// freed, and are reused as late as possible: a late call finds an empty sink, is rejected and reported
/// with the instance's name, and does no harm.
package final class SinkSlots<Sink: BitwiseCopyable>: Sendable {
    /// How many are idle before one is reused.
    private static var idleMax: Int { 256 }

    private struct State: @unchecked Sendable {
        var idle: [UnsafeMutablePointer<Sink>] = []
        var head = 0
        /// The last user of each sink.
        var owners: [UnsafeMutablePointer<Sink>: Owner] = [:]
    }

    private struct Owner {
        weak var context: InstanceContext?
    }

    private let state = Mutex(State())
    private let empty: @Sendable () -> Sink

    /// `empty` makes a sink with functions and without state.
    init(_ empty: @escaping @Sendable () -> Sink) { self.empty = empty }

    /// A sink for one call; `fill` sets its state.
    func take(
        for context: InstanceContext, _ fill: (inout Sink) -> Void
    ) -> UnsafeMutablePointer<Sink> {
        let slot = state.withLock { state -> SlotPointer<Sink> in
            let slot: UnsafeMutablePointer<Sink>
            if state.idle.count - state.head > Self.idleMax {
                slot = state.idle[state.head]
                state.head += 1
                if state.head > 1_024 {
                    state.idle.removeFirst(state.head)
                    state.head = 0
                }
            } else {
                slot = .allocate(capacity: 1)
            }
            state.owners[slot] = Owner(context: context)
            return SlotPointer(raw: slot)
        }
        var sink = empty()
        fill(&sink)
        slot.raw.initialize(to: sink)
        return slot.raw
    }

    /// Returns a sink after its call.
    func giveBack(_ slot: UnsafeMutablePointer<Sink>) {
        slot.initialize(to: empty())
        let slot = SlotPointer(raw: slot)
        state.withLock { $0.idle.append(slot.raw) }
    }

    /// Reports that a plugin used a sink outside of its call. Returns the status for the plugin.
    func late(_ slot: UnsafeMutablePointer<Sink>?) -> sbx_status {
        guard let slot else { return SBX_E_INVALID }
        let given = SlotPointer(raw: slot)
        let owner = state.withLock { $0.owners[given.raw]?.context }
        owner?.misbehaved("used a sink after its call had returned")
        return SBX_E_INVALID
    }
}

/// `@unchecked Sendable`: only carries an address through a lock.
private struct SlotPointer<Sink>: @unchecked Sendable {
    let raw: UnsafeMutablePointer<Sink>
}
