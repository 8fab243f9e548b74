internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// Controls SIGPIPE, the signal for a write to a socket whose peer is gone.
///
/// NIO sets SIGPIPE to ignored for the whole process when it makes its first socket. A program that embeds the
/// gateway may have its own handler, which must stay.
enum PipeSignal {
    private static let isSettled = Mutex(false)

    /// Lets NIO change SIGPIPE once, then restores the program's handler. Blocks for a moment.
    static func settle(_ group: MultiThreadedEventLoopGroup) {
        isSettled.withLock { isSettled in
            guard !isSettled else { return }
            isSettled = true
            var before = sigaction()
            guard sigaction(SIGPIPE, nil, &before) == 0 else { return }
            // Connecting to this address fails, but makes NIO create a socket.
            let nowhere = try? SocketAddress(unixDomainSocketPath: "/")
            if let nowhere { _ = try? ClientBootstrap(group: group).connect(to: nowhere).wait() }
            let handler = unsafeBitCast(before.__sigaction_handler.sa_handler, to: Int.self)
            if handler != unsafeBitCast(SIG_DFL, to: Int.self) { sigaction(SIGPIPE, &before, nil) }
        }
    }
}
