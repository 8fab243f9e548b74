internal import GRDB
internal import SignalboxCore
internal import SignalboxThreads

/// Look-ups, on a connection and a thread of their own: no commit waits for them, and they wait for none.
///
/// They see what was committed before they were asked for.
final class StoreReader: Sendable {
    /// Looks something up; the second argument says what went wrong instead.
    typealias Job = @Sendable (Database?, HotStatements, StoreError?) -> Void

    private struct Inbox {
        var jobs: [Job] = []
        var isClosing = false
        var isClosed = false
    }

    private let inbox = Gate(Inbox())

    init(files: StoreFiles) throws(StoreError) {
        let queue: DatabaseQueue
        do {
            var configuration = Configuration()
            configuration.readonly = true
            configuration.busyMode = .timeout(5)
            configuration.prepareDatabase { db in
                try db.execute(sql: "PRAGMA cache_size = -4096")
            }
            queue = try DatabaseQueue(path: files.path, configuration: configuration)
        } catch {
            throw files.fault(error)
        }
        let inbox = inbox
        SystemThread.start("sbx-reader") { Self.run(queue, files, inbox) }
    }

    /// Runs a job soon; false if the store is closed.
    func submit(_ job: @escaping Job) -> Bool {
        inbox.update { inbox in
            guard !inbox.isClosing else { return false }
            inbox.jobs.append(job)
            return true
        }
    }

    /// Ends it once all jobs are done, and waits for that.
    func close() {
        inbox.updateAll { $0.isClosing = true }
        inbox.wait(for: { $0.isClosed ? () : nil })
    }

    private static func run(_ queue: DatabaseQueue, _ files: StoreFiles, _ inbox: Gate<Inbox>) {
        let hot = HotStatements()
        while true {
            let (jobs, isEnd): ([Job], Bool) = inbox.wait(for: { inbox in
                guard inbox.isClosing || !inbox.jobs.isEmpty else { return nil }
                defer { inbox.jobs = [] }
                return (inbox.jobs, inbox.isClosing && inbox.jobs.isEmpty)
            })
            if isEnd { break }
            var left = jobs[...]
            do {
                try queue.unsafeRead { db in
                    try db.inTransaction(.deferred) {
                        while let job = left.popFirst() { job(db, hot, nil) }
                        return .commit
                    }
                }
            } catch {
                let fault = files.fault(error)
                while let job = left.popFirst() { job(nil, hot, fault) }
            }
        }
        hot.removeAll()
        try? queue.close()
        inbox.updateAll { $0.isClosed = true }
    }
}
