internal import NIOCore

/// Runs tasks on an event loop.
///
/// Connections are served on the thread that reads them: a request that is handed to another one and back costs
/// more than reading it does. What runs there must be brief; whatever takes time hands over to a worker.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
