internal import Glibc
internal import NIOCore
package import NIOPosix
internal import SignalboxThreads

/// Creates event loops, and throws if that fails. NIO itself aborts the process if the system has no
/// descriptor or thread left.
package enum EventLoops {
    /// epoll, its eventfd and its timerfd.
    private static let descriptorsPerLoop = 3
    /// Descriptors for the first sockets.
    private static let descriptorsSpare = 4

    /// Starts `threads` event loops. Their threads are called `name-1`, `name-2`, ...; a single one `name`.
    ///
    /// Another thread may still take the resources between the check and the start; this cannot be prevented.
    package static func group(
        threads: Int, name: String
    ) throws(ResourceError) -> MultiThreadedEventLoopGroup {
        try Descriptors.require(threads * descriptorsPerLoop + descriptorsSpare)
        try requireThreads(threads)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        for (index, loop) in group.makeIterator().enumerated() {
            // Runs first on the loop's thread.
            loop.execute { SystemThread.nameCurrent(threads == 1 ? name : "\(name)-\(index + 1)") }
        }
        return group
    }

    /// Throws if the process cannot run `count` more threads at this moment.
    static func requireThreads(_ count: Int) throws(ResourceError) {
        let gate = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        gate.initialize(to: pthread_mutex_t())
        pthread_mutex_init(gate, nil)
        // All must exist at once, so each waits until the last one has started.
        pthread_mutex_lock(gate)
        var threads: [pthread_t] = []
        var error: Int32 = 0
        while threads.count < count, error == 0 {
            var thread = pthread_t()
            error = pthread_create(
                &thread, nil,
                { gate in
                    let gate = gate?.assumingMemoryBound(to: pthread_mutex_t.self)
                    if let gate {
                        pthread_mutex_lock(gate)
                        pthread_mutex_unlock(gate)
                    }
                    return nil
                }, gate)
            if error == 0 { threads.append(thread) }
        }
        pthread_mutex_unlock(gate)
        for thread in threads { pthread_join(thread, nil) }
        pthread_mutex_destroy(gate)
        gate.deallocate()
        guard error == 0 else {
            throw ResourceError(
                message: "\(count) more threads are needed: \(SystemError.text(error)); raise the "
                    + "limit (ulimit -u, TasksMax= of systemd) or give the process more memory")
        }
    }
}
