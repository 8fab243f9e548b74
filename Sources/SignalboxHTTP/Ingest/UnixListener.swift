internal import Logging
internal import NIOCore
internal import Synchronization

/// A Unix socket that keeps its place: without its file nobody can connect, and nobody would notice. What removes files
/// of `/tmp` or `/run` removes sockets, too.
final class UnixListener: Sendable {
    /// Listens on a socket that is bound.
    typealias Listen = @Sendable (Int32) -> EventLoopFuture<any Channel>
    private static let lookMs: Int64 = 1_000

    private struct State {
        var channel: any Channel
        var file: UnixSocketFile
        var isEnded = false
        /// Whether it was logged that another process has replaced the file.
        var isTold = false
    }

    private let path: String
    private let listen: Listen
    private let logger: Logger
    private let state: Mutex<State>

    private init(_ path: String, _ listen: @escaping Listen, _ logger: Logger, _ state: State) {
        self.path = path
        self.listen = listen
        self.logger = logger
        self.state = Mutex(state)
    }

    /// Binds the socket, listens, and looks after the file until the end.
    static func start(
        _ path: String, logger: Logger, listen: @escaping Listen
    ) async throws -> UnixListener {
        let file = try UnixSocketFile(path)
        do {
            let channel = try await listen(file.descriptor).get()
            let listener = UnixListener(
                path, listen, logger, State(channel: channel, file: file))
            channel.eventLoop.scheduleRepeatedTask(
                initialDelay: .milliseconds(lookMs), delay: .milliseconds(lookMs)
            ) { [weak listener] task in
                guard let listener, listener.look() else { return task.cancel() }
            }
            return listener
        } catch {
            file.remove()
            throw error
        }
    }

    /// Looks whether the file is there. Returns whether to look again. Thread: the event loop.
    private func look() -> Bool {
        let (isEnded, place, isTold) = state.withLock { state in
            let place = state.file.place
            defer { state.isTold = place == .another }
            return (state.isEnded, place, state.isTold)
        }
        if isEnded { return false }
        switch place {
        case .own: break
        case .another:
            if !isTold {
                logger.error(
                    "another file is in the place of the listener's socket, so nobody reaches it; remove that file",
                    metadata: ["file": "\(path)"])
            }
        case .none: make()
        }
        return true
    }

    private func make() {
        let metadata: Logger.Metadata = ["file": "\(path)"]
        do throws(UnixSocketFile.Refusal) {
            let file = try UnixSocketFile(path)
            listen(file.descriptor).whenComplete { [self] result in
                guard case .success(let channel) = result else {
                    file.remove()
                    return
                }
                let old = state.withLock { state -> any Channel in
                    guard !state.isEnded else {
                        file.remove()
                        return channel
                    }
                    defer { (state.channel, state.file) = (channel, file) }
                    return state.channel
                }
                old.close(promise: nil)
                logger.warning(
                    "the file of the listener's socket was removed, made another",
                    metadata: metadata)
            }
        } catch {
            logger.error(
                "the file of the listener's socket was removed, and cannot be made again",
                metadata: ["file": "\(path)", "error": "\(error)"])
        }
    }

    /// Stops listening, and removes the file.
    func close() async {
        let (channel, file) = state.withLock { state in
            state.isEnded = true
            return (state.channel, state.file)
        }
        try? await channel.close()
        file.remove()
    }
}
