import Testing

@testable import SignalboxStore

/// When a commit begins, and who makes it.
@Suite struct StoreInboxTests {
    private typealias Inbox = StoreInbox<String>

    private var inbox = Inbox()
    private var group: [String] = []

    /// The thread's commit is over.
    private mutating func end() {
        _ = inbox.led(retryNs: nil)
        group = []
    }

    @Test mutating func `outcomes wait for company and go together`() {
        #expect(inbox.put("outcome", outcomes: 1) == .call)
        #expect(inbox.take(&group, nowNs: 10).wakeNs == 10 + JobGroup.patienceNs)
        #expect(inbox.put("outcome", outcomes: 1) == .none)
        #expect(inbox.take(&group, nowNs: 11).result == nil)
        #expect(inbox.take(&group, nowNs: 10 + JobGroup.patienceNs).result == false)
        #expect(group.count == 2)
    }

    @Test mutating func `anything else ends the wait of outcomes`() {
        _ = inbox.put("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).result == nil)
        #expect(inbox.put("work") == .call)
        #expect(inbox.take(&group, nowNs: 11).result == false)
        #expect(group.count == 2)
    }

    @Test mutating func `many outcomes wait for nobody`() {
        _ = inbox.put("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).result == nil)
        #expect(inbox.put("outcomes", outcomes: JobGroup.companyMax) == .call)
        #expect(inbox.take(&group, nowNs: 11).result == false)
    }

    @Test mutating func `outcomes of the next group wait anew`() {
        _ = inbox.put("outcomes", outcomes: JobGroup.companyMax)
        #expect(inbox.take(&group, nowNs: 0).result == false)
        end()
        #expect(inbox.put("outcome", outcomes: 1) == .call)
        #expect(inbox.take(&group, nowNs: JobGroup.patienceNs + 5).result == nil)
    }

    @Test mutating func `a thread that was called is not called again`() {
        #expect(inbox.put("work") == .call)
        #expect(inbox.put("work") == .none)
        #expect(inbox.put("outcome", outcomes: 1) == .none)
    }

    @Test mutating func `a close waits for nobody and is the end`() {
        _ = inbox.put("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).result == nil)
        inbox.isClosing = true
        #expect(inbox.take(&group, nowNs: 11).result == true)
        #expect(group.count == 1)
        #expect(inbox.put("work") == .refused)
    }

    @Test mutating func `a retry of the store's own takes along what waits`() {
        _ = inbox.led(retryNs: 20)
        #expect(inbox.take(&group, nowNs: 5).wakeNs == 20)
        _ = inbox.put("outcome", outcomes: 1)
        #expect(inbox.take(&group, nowNs: 10).wakeNs == 20)
        #expect(inbox.take(&group, nowNs: 20).result == false)
        #expect(group.count == 1)
    }

    @Test mutating func `a crowd is taken in parts`() {
        for _ in 0...JobGroup.groupMax { _ = inbox.put("work") }
        #expect(inbox.take(&group, nowNs: 0).result == false)
        #expect(group.count == JobGroup.groupMax)
        end()
        #expect(inbox.take(&group, nowNs: 0).result == false)
        #expect(group.count == 1)
        end()
        #expect(inbox.take(&group, nowNs: 0).result == nil)
    }

    // MARK: Workers

    @Test mutating func `a spare worker leads a lone job, and the thread what comes meanwhile`() {
        #expect(inbox.put("event", by: .spareWorker) == .lead)
        #expect(inbox.lead(&group, nowNs: 0) == true)
        #expect(group == ["event"])
        #expect(inbox.put("event", by: .spareWorker) == .none)
        #expect(inbox.take(&group, nowNs: 0).result == nil)
        group = []
        #expect(inbox.lead(&group, nowNs: 0) == false)
        #expect(inbox.led(retryNs: nil) == true)
        #expect(inbox.take(&group, nowNs: 0).result == false)
    }

    @Test mutating func `a busy worker calls the thread`() {
        #expect(inbox.put("event", by: .worker) == .call)
    }

    @Test mutating func `outcomes of a worker call nobody, and go with the next event`() {
        #expect(
            inbox.put("outcome", outcomes: 1, by: .worker, nowNs: 7)
                == .look(atNs: 7 + JobGroup.patienceNs))
        #expect(inbox.lead(&group, nowNs: 8) == false)
        #expect(inbox.put("event", by: .spareWorker, nowNs: 9) == .lead)
        #expect(inbox.lead(&group, nowNs: 9) == true)
        #expect(group.count == 2)
        #expect(inbox.led(retryNs: nil) == false)
    }

    @Test mutating func `outcomes that got no company are led when their time is over`() {
        _ = inbox.put("outcome", outcomes: 1, by: .worker, nowNs: 7)
        #expect(inbox.lead(&group, nowNs: 7 + JobGroup.patienceNs) == true)
        #expect(group.count == 1)
    }

    @Test mutating func `a worker with many outcomes does not wait for the disk`() {
        let many = JobGroup.companyMax + 1
        #expect(inbox.put("outcomes", outcomes: many, by: .spareWorker) == .call)
    }

    @Test mutating func `no worker leads while the store tries something again`() {
        _ = inbox.led(retryNs: 20)
        #expect(inbox.put("event", by: .spareWorker) == .call)
    }

    @Test mutating func `a close waits for the worker that leads`() {
        _ = inbox.put("event", by: .spareWorker)
        _ = inbox.lead(&group, nowNs: 0)
        inbox.isClosing = true
        #expect(inbox.take(&group, nowNs: 0).result == nil)
        #expect(inbox.led(retryNs: nil) == true)
        group = []
        #expect(inbox.take(&group, nowNs: 0).result == true)
    }
}

extension StoreInbox<String> {
    fileprivate mutating func put(
        _ job: String, outcomes: Int? = nil, by caller: Caller = .other,
        nowNs: UInt64 = 0
    ) -> Duty {
        add(job, outcomes: outcomes, by: caller, nowNs: nowNs)
    }
}
