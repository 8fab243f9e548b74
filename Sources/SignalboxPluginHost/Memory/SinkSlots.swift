internal import CSignalbox
internal import Synchronization

/// Sinks that plugins write to, at addresses that stay sound for ever.
///
/// A plugin may keep a sink and use it when its call is over, which the contract forbids. So sinks are
/// never freed, and are used again as late as can be: a late call finds an empty one, is refused and
/// reported by the instance's name, and harms nobody.
final class SinkSlots<Sink: BitwiseCopyable>: Sendable {
    /// How many lie idle before one is used again.
    private static var idleMax: Int { 256 }

    private struct State: @unchecked Sendable {
        var idle: [UnsafeMutablePointer<Sink>] = []
        var head = 0
        /// Whose sink it was the last time.
        var owners: [UnsafeMutablePointer<Sink>: Owner] = [:]
    }

    private struct Owner {
        weak var context: InstanceContext?
    }

    private let state = Mutex(State())
    private let empty: @Sendable () -> Sink

    /// `empty` makes a sink whose functions are there, and whose state is not.
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

    /// The call is over.
    func giveBack(_ slot: UnsafeMutablePointer<Sink>) {
        slot.initialize(to: empty())
        let slot = SlotPointer(raw: slot)
        state.withLock { $0.idle.append(slot.raw) }
    }

    /// A plugin used a sink without a call: says so, and what the plugin gets.
    func late(_ slot: UnsafeMutablePointer<Sink>?) -> sbx_status {
        guard let slot else { return SBX_E_INVALID }
        let given = SlotPointer(raw: slot)
        let owner = state.withLock { $0.owners[given.raw]?.context }
        owner?.misbehaved("used a sink after its call had returned")
        return SBX_E_INVALID
    }
}

/// `@unchecked Sendable`: an address on its way through a lock.
private struct SlotPointer<Sink>: @unchecked Sendable {
    let raw: UnsafeMutablePointer<Sink>
}
