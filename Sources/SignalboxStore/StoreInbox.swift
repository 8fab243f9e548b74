/// Jobs that wait for the store's thread.
///
/// Outcomes alone wait a moment for company: the pushes of one event end one shortly after the other, and each commit
/// costs a sync. Nobody waits for them, and whatever else comes ends the wait.
struct StoreInbox<Job> {
    /// No job is taken in any more.
    var isClosing = false
    /// The store's thread has ended.
    var isClosed = false
    private var jobs: [Job] = []
    /// Outcomes among them.
    private var outcomeCount = 0
    /// Something else is among them.
    private var isUrgent = false
    /// When the wait for company began.
    private var sinceNs: UInt64?

    private var isReady: Bool { isUrgent || outcomeCount >= JobGroup.companyMax }

    /// Adds a job; whether it was taken in, and whether the thread has to be woken for it.
    ///
    /// `outcomes`: how many it settles; nil: it is something else.
    mutating func add(_ job: Job, outcomes: Int?) -> (isTaken: Bool, wakes: Bool) {
        guard !isClosing else { return (false, false) }
        let (wasEmpty, wasReady) = (jobs.isEmpty, isReady)
        jobs.append(job)
        if let outcomes { outcomeCount += outcomes } else { isUrgent = true }
        return (true, wasEmpty || isReady && !wasReady)
    }

    /// Takes the next group, and gives whether it is the last, or says until when to wait; nil: until something
    /// is added.
    ///
    /// `group` must be empty. `retryNs`: when the thread has something to do of its own.
    mutating func take(
        _ group: inout [Job], nowNs: UInt64, retryNs: UInt64? = nil
    ) -> (result: Bool?, wakeNs: UInt64?) {
        let isDue = isClosing || retryNs.map { $0 <= nowNs } ?? false
        guard !jobs.isEmpty || isDue else { return (nil, retryNs) }
        if !isDue, !isReady {
            let since = sinceNs ?? nowNs
            sinceNs = since
            let until = since + JobGroup.patienceNs
            guard until <= nowNs else { return (nil, min(until, retryNs ?? .max)) }
        }
        if jobs.count <= JobGroup.groupMax {
            swap(&jobs, &group)
        } else {
            group += jobs.prefix(JobGroup.groupMax)
            jobs.removeFirst(JobGroup.groupMax)
        }
        sinceNs = nil
        // What is left of a crowd is not asked how much of it there is.
        isUrgent = !jobs.isEmpty
        outcomeCount = 0
        return (isClosing && jobs.isEmpty, nil)
    }
}

/// The limits of a group of jobs.
enum JobGroup {
    /// How long outcomes wait for company, in nanoseconds.
    static let patienceNs: UInt64 = 2_000_000
    /// So many outcomes need no company.
    static let companyMax = 32
    /// Most jobs of a group.
    static let groupMax = 4_096
}
