/// Jobs that wait for a commit, and who makes it.
///
/// One thread at a time leads: it takes the jobs, commits them, and looks again. That is the store's own thread, or,
/// if no thread leads, an idle worker: then no thread has to be woken for the commit or its answers.
///
/// Outcomes alone wait a moment, for more of them or for any other job: each commit costs a sync, and nobody waits for
/// outcomes. So under a steady load they go with the next event.
struct StoreInbox<Job> {
    /// What to do about a job that was added.
    enum Duty: Equatable {
        /// The job was refused: the store is closing.
        case refused
        /// Another thread leads, or was called.
        case none
        /// Wake the store's thread.
        case call
        /// Lead: no other thread will.
        case lead
        /// Check at this time whether another thread has led.
        case look(atNs: UInt64)
    }

    /// Who adds a job.
    enum Caller {
        /// A worker with nothing else to do.
        case spareWorker
        case worker
        case other
    }

    /// New jobs are refused.
    var isClosing = false
    /// The store's thread has ended.
    var isClosed = false
    private var jobs: [Job] = []
    /// Outcomes among them.
    private var outcomeCount = 0
    /// A job other than an outcome is among them.
    private var isUrgent = false
    /// When the wait for more outcomes began.
    private var sinceNs: UInt64?
    /// A thread leads: it commits the jobs it took.
    private var isLed = false
    /// When the store has work of its own.
    private var retryNs: UInt64?

    /// An empty inbox. `retryNs`: when the store has work of its own.
    init(retryNs: UInt64? = nil) { self.retryNs = retryNs }

    private var isReady: Bool { isUrgent || outcomeCount >= JobGroup.companyMax }

    /// Adds a job.
    ///
    /// `outcomes`: how many it settles; nil for any other job.
    mutating func add(
        _ job: Job, outcomes: Int?, by caller: Caller = .other, nowNs: @autoclosure () -> UInt64
    ) -> Duty {
        guard !isClosing else { return .refused }
        let (wasEmpty, wasReady) = (jobs.isEmpty, isReady)
        jobs.append(job)
        if let outcomes {
            outcomeCount += outcomes
        } else {
            isUrgent = true
        }
        guard !isLed, wasEmpty || isReady && !wasReady else { return .none }
        if isReady { return caller == .spareWorker && mayLead ? .lead : .call }
        guard caller != .other else { return .call }
        let now = nowNs()
        sinceNs = now
        return .look(atNs: now + JobGroup.patienceNs)
    }

    /// A worker that settles many has more to send, and must not wait for the disk; nor for a disk that is in
    /// trouble.
    private var mayLead: Bool { outcomeCount <= JobGroup.companyMax && retryNs == nil }

    /// Takes the jobs, to lead; false if another thread leads, or nothing is due. `group` must be empty.
    mutating func lead(_ group: inout [Job], nowNs: UInt64) -> Bool {
        guard !isLed, !isClosing, !jobs.isEmpty, isReady || isDue(nowNs) else { return false }
        takeJobs(&group)
        return true
    }

    /// The taken jobs are committed. Returns whether the store's thread must run; `retryNs`: when the store has work of
    /// its own.
    mutating func led(retryNs: UInt64?) -> Bool {
        isLed = false
        self.retryNs = retryNs
        return isClosing || !jobs.isEmpty || retryNs != nil
    }

    /// For the store's thread: takes the next group and returns whether it is the last, or returns until when to wait;
    /// nil to wait until it is called.
    ///
    /// `group` must be empty.
    mutating func take(
        _ group: inout [Job], nowNs: UInt64
    ) -> (result: Bool?, wakeNs: UInt64?) {
        guard !isLed else { return (nil, nil) }
        let isAsked = isClosing || retryNs.map { $0 <= nowNs } ?? false
        guard !jobs.isEmpty || isAsked else { return (nil, retryNs) }
        if !isAsked, !isReady, !isDue(nowNs) {
            let since = sinceNs ?? nowNs
            sinceNs = since
            return (nil, min(since + JobGroup.patienceNs, retryNs ?? .max))
        }
        takeJobs(&group)
        return (isClosing && jobs.isEmpty, nil)
    }

    /// Outcomes have waited long enough.
    private func isDue(_ nowNs: UInt64) -> Bool {
        sinceNs.map { $0 + JobGroup.patienceNs <= nowNs } ?? false
    }

    private mutating func takeJobs(_ group: inout [Job]) {
        if jobs.count <= JobGroup.groupMax {
            swap(&jobs, &group)
        } else {
            group += jobs.prefix(JobGroup.groupMax)
            jobs.removeFirst(JobGroup.groupMax)
        }
        isLed = true
        sinceNs = nil
        // Leftover jobs count as urgent; their outcomes are not recounted.
        isUrgent = !jobs.isEmpty
        outcomeCount = 0
    }
}

/// The limits of a group of jobs.
enum JobGroup {
    /// How long outcomes wait for company, in nanoseconds. After a crash, pushes that ended in it are sent again.
    static let patienceNs: UInt64 = 10_000_000
    /// With so many outcomes, a commit does not wait for more.
    static let companyMax = 32
    /// Most jobs of a group.
    static let groupMax = 4_096
}
