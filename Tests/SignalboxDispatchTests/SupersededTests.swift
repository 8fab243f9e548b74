import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// A retry must not undo a later push.
@Suite struct SupersededTests {
    private func push(
        _ id: UInt64, at unixMs: UInt64, _ change: (inout PushNotification) -> Void = { _ in }
    ) -> Delivery {
        var note = PushNotification()
        note.collapse = "k"
        note.title = "\(id)"
        change(&note)
        var made = delivery(id)
        made.content = SharedNotification(note, receivedUnixMs: unixMs)
        made.device = Device(app: "a", token: "t")
        return made
    }

    private func lease(_ deliveries: [Delivery], _ rig: LaneStateRig) -> StoreLease {
        var lease = StoreLease(token: rig.token)
        lease.deliveries = deliveries
        return lease
    }

    /// The store knows of these.
    private func stored(_ effects: LaneEffects, _ rig: inout LaneStateRig) {
        _ = rig.state.stored(effects.endings.map(\.end), wereLate: false, rig.now)
    }

    @Test func `a failure that a newer accepted push of its key has overtaken is not tried again`()
    {
        var rig = LaneStateRig()
        rig.submit([push(1, at: 1), push(2, at: 2)])
        #expect(rig.run().sent == [1, 2])
        let accepted = rig.take([2], .delivered).endings
        #expect(accepted.first?.supersedes == push(2, at: 2).supersession)
        let failed = rig.take([1], .retry, code: 503)
        #expect(failed.kinds == [1: .superseded(reason: "newer_accepted")])
        guard case .delivered(1, nil)? = failed.endings.first?.end else {
            Issue.record("the store is told that it waits")
            return
        }
    }

    @Test func `a retry that was overtaken while it waited is not sent`() {
        var rig = LaneStateRig()
        rig.submit([push(1, at: 1)])
        _ = rig.run()
        stored(rig.take([1], .retry, code: 503), &rig)
        rig.submit([push(2, at: 2)])
        _ = rig.run()
        _ = rig.take([2], .delivered)
        var again = push(1, at: 1)
        again.attempt = 2
        _ = rig.state.leased(lease([again], rig), LeaseWish(max: 1, forMs: 1), rig.now)
        let (sent, effects) = rig.run()
        #expect(sent.isEmpty)
        #expect(effects.kinds == [1: .superseded(reason: "newer_accepted")])
    }

    @Test
    func `a withdrawal takes back what is older, of its key and device, before it is accepted`() {
        var rig = LaneStateRig()
        var other = push(3, at: 3)
        other.device.token = "u"
        rig.submit([
            push(5, at: 5) { $0.isWithdrawn = true }, push(4, at: 4), other,
            push(2, at: 2) { $0.collapse = "else" }, push(6, at: 6),
            push(7, at: 1) { $0.collapse = "" },
        ])
        let (sent, effects) = rig.run()
        #expect(sent == [5, 3, 2, 6, 7])
        #expect(effects.kinds == [4: .superseded(reason: "taken_back")])
        // One that came earlier and is tried again.
        _ = rig.state.leased(lease([push(8, at: 1)], rig), LeaseWish(max: 1, forMs: 1), rig.now)
        #expect(rig.run().effects.kinds == [8: .superseded(reason: "taken_back")])
        // A newer push that is shown is not removed by its retry.
        _ = rig.take([6], .delivered)
        #expect(
            rig.take([5], .retry, code: 503).kinds == [5: .superseded(reason: "newer_accepted")])
    }

    @Test func `what a store lends as stale is not sent, and an icon's older number is left out`() {
        var rig = LaneStateRig()
        var lease = lease([push(1, at: 1), push(2, at: 2) { $0.badge = 3 }], rig)
        lease.stale = [1: .shown, 2: .badge]
        let effects = rig.state.leased(lease, LeaseWish(max: 2, forMs: 1), rig.now)
        #expect(effects.kinds == [1: .superseded(reason: "newer_accepted")])
        let turn = rig.state.turn(rig.now, batchMax: nil)
        #expect(turn.batch.map(\.id) == [2])
        #expect(turn.batch.first?.content.notification.badge == nil)
        #expect(turn.batch.first?.content.notification.title == "2")
    }

    @Test func `an older number is not sent after a newer one, and nothing is sent for it alone`() {
        var rig = LaneStateRig()
        func counting(_ id: UInt64, _ badge: Int32, title: String) -> Delivery {
            var made = push(id, at: id) {
                $0.collapse = ""
                $0.title = title
            }
            made.badge = badge
            return made
        }
        rig.submit([
            counting(1, 1, title: "one"), counting(2, 2, title: ""), counting(3, 3, title: "three"),
        ])
        _ = rig.run()
        _ = rig.take([3], .delivered)
        let failed = rig.take([1, 2], .retry, code: 503)
        guard case .retry? = failed.kinds[1] else {
            Issue.record("a push with a text is lost")
            return
        }
        #expect(failed.kinds[2] == .superseded(reason: "newer_accepted"))
        stored(failed, &rig)
        _ = rig.state.leased(
            lease([counting(1, 1, title: "one")], rig), LeaseWish(max: 1, forMs: 1), rig.now)
        let turn = rig.state.turn(rig.now, batchMax: nil)
        #expect(turn.batch.map(\.badge) == [nil])
        #expect(turn.batch.map(\.content.notification.title) == ["one"])
    }

    @Test func `another device, key or app, a dead token and a dry run are not overtaken`() {
        var rig = LaneStateRig()
        var other = push(1, at: 1)
        other.device.token = "u"
        let key = push(2, at: 2) { $0.collapse = "l" }
        let dead = push(3, at: 3)
        let dry = push(4, at: 4) { $0.isDryRun = true }
        rig.submit([other, key, dead, dry, push(9, at: 9)])
        _ = rig.run()
        _ = rig.take([9], .delivered)
        let effects = rig.take([1, 2, 4], .retry, code: 503)
        for id in [1, 2, 4] as [UInt64] {
            guard case .retry? = effects.kinds[id] else {
                Issue.record("\(id) is \(String(describing: effects.kinds[id]))")
                continue
            }
        }
        #expect(
            rig.take([3], .unregistered).kinds == [3: .failed(reason: "r", wasSent: true)])
        var elsewhere = push(5, at: 5)
        elsewhere.sender = "else"
        #expect(elsewhere.supersession?.shown != push(5, at: 5).supersession?.shown)
    }

    @Test
    func
        `within a millisecond the ids are the order, and a clock that was set back overtakes nothing`()
        throws
    {
        var newest = NewestAccepted()
        newest.note(try #require(push(5, at: 10).supersession), nowMs: 1)
        #expect(newest.staleness(of: push(4, at: 10), nowUnixMs: 10).stale == .shown)
        #expect(newest.staleness(of: push(6, at: 10), nowUnixMs: 10).stale == [])
        #expect(newest.staleness(of: push(4, at: 3), nowUnixMs: 9).stale == [])
    }

    @Test func `what is remembered has a bound in number and in time`() throws {
        var newest = NewestAccepted(countMax: 4)
        for id in UInt64(1)...9 {
            let own = push(id, at: id) { $0.collapse = "\(id)" }.supersession
            newest.note(try #require(own), nowMs: 1)
        }
        func knows(_ id: UInt64) -> Bool {
            let older = push(0, at: 0) { $0.collapse = "\(id)" }
            return !newest.staleness(of: older, nowUnixMs: 100).stale.isEmpty
        }
        #expect((1...9).filter { knows($0) } == [5, 6, 7, 8, 9])
        for time in [1, 2] {
            newest.note(
                try #require(push(20, at: 20).supersession),
                nowMs: UInt64(time) * NewestAccepted.keepMs + 1)
        }
        #expect((1...9).filter { knows($0) } == [])
    }
}
