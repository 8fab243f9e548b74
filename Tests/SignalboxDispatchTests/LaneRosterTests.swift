import SignalboxCore
import Testing

@testable import SignalboxDispatch

/// Every transition of the table of lanes, one at a time; lanes are plain strings here.
@Suite struct LaneRosterTests {
    private let apns = LaneKey(sender: "apns", app: "")
    private let fcm = LaneKey(sender: "fcm", app: "")

    @Test func `a backlog makes its lane once and is then told to it`() {
        let roster = Roster()
        #expect(roster.backlog(apns) == "make")
        #expect(roster.backlog(apns) == "nothing")
        let ticket = roster.begin(apns)
        #expect(roster.enter("one", apns, ticket) == .entered)
        #expect(roster.backlog(apns) == "tell one")
        #expect(roster.all == ["one"])
    }

    @Test func `no two lanes have one number`() {
        let roster = Roster()
        let one = roster.begin(apns)
        let two = roster.begin(apns)
        #expect(one?.number != two?.number)
    }

    @Test func `a lane that is opened is not made a second time by a backlog`() {
        let roster = Roster()
        let ticket = roster.begin(apns)
        #expect(roster.backlog(apns) == "nothing")
        #expect(roster.enter("one", apns, ticket) == .entered)
    }

    @Test func `of two lanes made at once the first stays`() {
        let roster = Roster()
        let (one, two) = (roster.begin(apns), roster.begin(apns))
        #expect(roster.enter("one", apns, one) == .entered)
        #expect(roster.enter("two", apns, two) == .isTaken)
        #expect(roster.lane(apns) == "one")
    }

    @Test func `a lane that was made for replaced instances is made again`() {
        let roster = Roster()
        let old = roster.begin(apns)
        #expect(roster.remove { _ in true }.isEmpty)
        #expect(roster.enter("old", apns, old) == .isOutdated)
        #expect(roster.lane(apns) == nil)
        let new = roster.begin(apns)
        #expect(roster.enter("new", apns, new) == .entered)
    }

    @Test func `a refusal is kept until the lane is made`() {
        let roster = Roster()
        #expect(roster.backlog(apns) == "make")
        #expect(roster.refuse(apns, "no key", roster.begin(apns)) == true)
        #expect(roster.refusals == [apns: "no key"])
        #expect(roster.backlog(apns) == "make")
        #expect(roster.enter("one", apns, roster.begin(apns)) == .entered)
        #expect(roster.refusals.isEmpty)
    }

    @Test func `what a replaced instance refused is asked of its successor`() {
        let roster = Roster()
        let old = roster.begin(apns)
        #expect(roster.remove { _ in true }.isEmpty)
        #expect(roster.refuse(apns, "stopping", old) == false)
        #expect(roster.refusals.isEmpty)
    }

    @Test func `a refusal does not take out the lane that another maker entered`() {
        let roster = Roster()
        let (one, two) = (roster.begin(apns), roster.begin(apns))
        #expect(roster.enter("one", apns, one) == .entered)
        #expect(roster.refuse(apns, "timeout", two) == true)
        #expect(roster.lane(apns) == "one")
        #expect(roster.refusals.isEmpty)
    }

    @Test func `only lanes of changed instances are taken out`() {
        let roster = Roster()
        #expect(roster.enter("a", apns, roster.begin(apns)) == .entered)
        #expect(roster.enter("f", fcm, roster.begin(fcm)) == .entered)
        #expect(roster.remove { $0.sender == "apns" } == ["a"])
        #expect(roster.all == ["f"])
        #expect(roster.backlog(apns) == "make")
    }

    @Test func `a lane is in the making until it has entered or is refused`() {
        let roster = Roster()
        #expect(!roster.isMaking(apns))
        let ticket = roster.begin(apns)
        #expect(roster.isMaking(apns))
        #expect(roster.enter("a", apns, ticket) == .entered)
        #expect(!roster.isMaking(apns))
        let other = roster.begin(fcm)
        #expect(roster.isMaking(fcm))
        #expect(roster.refuse(fcm, "why", other) == true)
        #expect(!roster.isMaking(fcm))
    }

    @Test func `nothing is made once the gateway stops`() {
        let roster = Roster()
        let late = roster.begin(fcm)
        #expect(roster.enter("a", apns, roster.begin(apns)) == .entered)
        #expect(roster.close() == ["a"])
        #expect(roster.backlog(apns) == "nothing")
        #expect(roster.begin(apns) == nil)
        #expect(roster.enter("late", fcm, late) == .isOutdated)
        #expect(roster.all.isEmpty)
    }

    private func app(_ name: String) -> LaneKey { LaneKey(sender: "apns", app: name) }

    @Test func `apps beyond the bound wait for a place, and a sender without one does not`() {
        let roster = Roster(countMax: 2)
        for name in ["a", "b"] {
            #expect(roster.backlog(app(name)) == "make")
            #expect(roster.enter(name, app(name), roster.begin(app(name))) == .entered)
        }
        for _ in 1...2 {
            #expect(roster.backlog(app("c")) == "nothing")
            #expect(roster.backlog(app("d")) == "nothing")
        }
        #expect(roster.value.queuedCount == 2 && roster.value.isQueued(app("c")))
        #expect(roster.backlog(apns) == "make")
        #expect(roster.enter("default", apns, roster.begin(apns)) == .entered)
        #expect(roster.value.admitted() == [])
        roster.value.retire(app("a"))
        #expect(roster.value.admitted() == [])
        roster.value.retire(app("b"))
        // The first that came.
        #expect(roster.value.admitted() == [app("c")])
        #expect(roster.backlog(app("c")) == "make")
        #expect(roster.backlog(app("a")) == "nothing")
        #expect(roster.value.queuedCount == 2)
    }

    @Test func `a lane that has ended for want of work outdates no other`() {
        let roster = Roster()
        #expect(roster.enter("a", app("a"), roster.begin(app("a"))) == .entered)
        let other = roster.begin(app("b"))
        roster.value.retire(app("a"))
        #expect(roster.value.leaving[app("a")] == ["a"])
        #expect(roster.enter("b", app("b"), other) == .entered)
        #expect(roster.backlog(app("a")) == "make")
    }

    @Test func `refusals are bounded`() {
        let roster = Roster()
        for number in 0..<1_200 {
            let key = app("\(number)")
            #expect(roster.refuse(key, "no such app", roster.begin(key)) == true)
        }
        #expect(roster.refusals.count == 1_000 && roster.refusals[app("1199")] != nil)
    }

    @Test func `an app that no sender handles is shown for ten minutes`() {
        let roster = Roster()
        for key in [app("misspelt"), apns] {
            #expect(roster.refuse(key, "no such app", isUnknown: true, roster.begin(key)) == true)
        }
        #expect(roster.refuse(app("b"), "no certificate", roster.begin(app("b"))) == true)
        roster.nowMs = 599_999
        #expect(roster.refusals.count == 3)
        #expect(roster.value.isRefused(app("misspelt"), nowMs: roster.nowMs))
        roster.nowMs = 600_000
        #expect(roster.refusals.keys.sorted() == [apns, app("b")])
        #expect(!roster.value.isRefused(app("misspelt"), nowMs: roster.nowMs))
        // It is shown again from the next event on.
        #expect(
            roster.refuse(
                app("misspelt"), "no such app", isUnknown: true, roster.begin(app("misspelt")))
                == true)
        #expect(roster.refusals.count == 3)
    }

    @Test func `a reload lets nobody wait for a place of an instance that is gone`() {
        let roster = Roster(countMax: 1)
        #expect(roster.enter("a", app("a"), roster.begin(app("a"))) == .entered)
        #expect(roster.backlog(app("b")) == "nothing")
        #expect(roster.remove { _ in true } == ["a"])
        #expect(roster.value.queuedCount == 0)
        #expect(roster.backlog(app("b")) == "make")
    }
}

/// The value in a box, so that expectations may change it.
private final class Roster {
    typealias Ticket = LaneRoster<String>.Ticket
    var value: LaneRoster<String>

    init(countMax: Int = .max) { value = LaneRoster(countMax: countMax) }

    var all: [String] { value.all }
    var nowMs: UInt64 = 0
    var refusals: [LaneKey: String] { value.refusals(nowMs: nowMs) }
    func lane(_ key: LaneKey) -> String? { value.lane(key) }
    func begin(_ key: LaneKey) -> Ticket? { value.begin(key) }
    func close() -> [String] { value.close() }
    func isMaking(_ key: LaneKey) -> Bool { value.isMaking(key) }

    func backlog(_ key: LaneKey) -> String {
        switch value.backlog(key) {
        case .tell(let lane): "tell \(lane)"
        case .make: "make"
        case .nothing: "nothing"
        }
    }

    func enter(_ lane: String, _ key: LaneKey, _ ticket: Ticket?) -> LaneRoster<String>.Entrance? {
        ticket.map { value.enter(lane, key, $0) }
    }

    func refuse(
        _ key: LaneKey, _ reason: String, isUnknown: Bool = false, _ ticket: Ticket?
    ) -> Bool? {
        ticket.map { value.refuse(key, reason, isUnknown: isUnknown, $0, nowMs: nowMs) }
    }

    func remove(where isWanted: @Sendable (LaneKey) -> Bool) -> [String] {
        value.remove(where: isWanted)
    }
}
