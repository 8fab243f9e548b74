internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// What happens to a process that writes to a socket whose peer is gone.
///
/// NIO ignores SIGPIPE for the whole process when it makes its first socket. A program that embeds the
/// gateway may have a handler of its own, which must stay.
enum PipeSignal {
    private static let isSettled = Mutex(false)

    /// Lets NIO have its way once, and puts a handler of the program back. Blocks for a moment.
    static func settle(_ group: MultiThreadedEventLoopGroup) {
        isSettled.withLock { isSettled in
            guard !isSettled else { return }
            isSettled = true
            var before = sigaction()
            guard sigaction(SIGPIPE, nil, &before) == 0 else { return }
            // A socket that leads nowhere.
            let nowhere = try? SocketAddress(unixDomainSocketPath: "/")
            if let nowhere { _ = try? ClientBootstrap(group: group).connect(to: nowhere).wait() }
            let handler = unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self)
            if handler != unsafeBitCast(SIG_DFL, to: Int.self) { sigaction(SIGPIPE, &before, nil) }
        }
    }
}
