import Testing

@testable import SignalboxStore

/// When the store's thread begins a commit.
@Suite struct StoreInboxTests {
    private typealias Inbox = StoreInbox<String>

    private var inbox = Inbox()
    private var group: [String] = []

    @Test mutating func `outcomes wait for company and go together`() {
        #expect(inbox.add("outcome", outcomes: 1).wakes)
        #expect(inbox.take(&group, nowNs: 10).wakeNs == 10 + JobGroup.patienceNs)
        #expect(!inbox.add("outcome", outcomes: 1).wakes)
        #expect(inbox.take(&group, nowNs: 11).result == nil)
        #expect(inbox.take(&group, nowNs: 10 + JobGroup.patienceNs).result == false)
        #expect(group.count == 2)
    }

    @Test mutating func `anything else ends the wait of outcomes`() {
        _ = inbox.add("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).result == nil)
        #expect(inbox.add("work", outcomes: nil).wakes)
        #expect(inbox.take(&group, nowNs: 11).result == false)
        #expect(group.count == 2)
    }

    @Test mutating func `many outcomes wait for nobody`() {
        _ = inbox.add("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).result == nil)
        #expect(inbox.add("outcomes", outcomes: JobGroup.companyMax).wakes)
        #expect(inbox.take(&group, nowNs: 11).result == false)
    }

    @Test mutating func `outcomes of the next group wait anew`() {
        _ = inbox.add("outcome", outcomes: 1)
        _ = inbox.take(&group, nowNs: 0)
        #expect(inbox.take(&group, nowNs: JobGroup.patienceNs).result == false)
        group = []
        #expect(inbox.add("outcome", outcomes: 1).wakes)
        #expect(inbox.take(&group, nowNs: JobGroup.patienceNs + 5).result == nil)
    }

    @Test mutating func `a thread that was woken is not woken again`() {
        #expect(inbox.add("work", outcomes: nil).wakes)
        #expect(!inbox.add("work", outcomes: nil).wakes)
        #expect(!inbox.add("outcome", outcomes: 1).wakes)
    }

    @Test mutating func `a close waits for nobody and is the end`() {
        _ = inbox.add("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).result == nil)
        inbox.isClosing = true
        #expect(inbox.take(&group, nowNs: 11).result == true)
        #expect(group.count == 1)
        #expect(!inbox.add("work", outcomes: nil).isTaken)
    }

    @Test mutating func `a retry of the thread's own takes along what waits`() {
        #expect(inbox.take(&group, nowNs: 5, retryNs: 20).wakeNs == 20)
        _ = inbox.add("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10, retryNs: 20).wakeNs == 20)
        #expect(inbox.take(&group, nowNs: 20, retryNs: 20).result == false)
        #expect(group.count == 1)
    }

    @Test mutating func `a crowd is taken in parts`() {
        for _ in 0...JobGroup.groupMax { _ = inbox.add("work", outcomes: nil) }
        #expect(inbox.take(&group, nowNs: 0).result == false)
        #expect(group.count == JobGroup.groupMax)
        group = []
        #expect(inbox.take(&group, nowNs: 0).result == false)
        #expect(group.count == 1)
        #expect(inbox.take(&group, nowNs: 0).result == nil)
    }
}
