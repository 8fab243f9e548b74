internal import Glibc
internal import SignalboxThreads
internal import Synchronization

/// What an isolated plugin's process writes to standard error: its last words, or a library's chatter.
///
/// It gets a socket and not the gateway's own standard error, where it could write lines that look like the gateway's,
/// and which it could truncate if that is a file. A thread reads it and passes on a limited number of lines; the rest
/// is dropped, and read so slowly that it costs little.
final class StandardError: Sendable {
    /// Longest line, in bytes; the rest of it is left out.
    static let lineBytesMax = 1_000
    /// Most lines in `LineQuota.intervalMs`.
    static let linesMax = 100
    /// How long the thread rests after each read beyond that, in milliseconds.
    private static let restMs: UInt64 = 10
    private static let readBytes = 16_384

    /// The gateway's end; nil once the thread has closed it.
    private let socket: Mutex<Int32?>

    /// Starts the thread. `log` gets lines, on that thread.
    init(socket: Int32, log: @escaping @Sendable (String) -> Void) {
        self.socket = Mutex(socket)
        let isRead = SystemThread.isStarted("sbx-stderr") { [self] in
            read(socket, log)
            over(socket)
        }
        // Without a thread, only this output is lost.
        if !isRead { over(socket) }
    }

    private func over(_ socket: Int32) {
        self.socket.withLock { $0 = nil }
        close(socket)
    }

    /// The process has ended: pending output is still passed on, and its child processes are not waited for.
    func end() {
        socket.withLock { if let socket = $0 { shutdown(socket, Int32(SHUT_RDWR)) } }
    }

    private func read(_ socket: Int32, _ log: (String) -> Void) {
        var lines = ErrorLines()
        var buffer = [UInt8](repeating: 0, count: Self.readBytes)
        let rest = Gate(())
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return lines.end(log) }
            lines.take(buffer[..<count], nowMs: SystemClock.monotonicNs / 1_000_000, log)
            guard lines.isFull else { continue }
            let until = SystemClock.monotonicNs + Self.restMs * 1_000_000
            rest.wait(until: { _ in (SystemClock.monotonicNs >= until ? () : nil, until) })
        }
    }
}

/// Cuts a stream into lines, limited per interval. A value without clock or socket.
struct ErrorLines {
    private var line: [UInt8] = []
    private var quota = LineQuota(linesMax: StandardError.linesMax)
    /// The last dropped line: if nothing follows, it tells why the process ended.
    private var last: [UInt8] = []

    /// No more lines are passed on in this interval.
    var isFull: Bool { quota.leftOut > 0 }

    /// Takes bytes, and hands on the lines that they complete.
    mutating func take(_ bytes: ArraySlice<UInt8>, nowMs: UInt64, _ log: (String) -> Void) {
        tell(quota.begin(nowMs: nowMs), log)
        for part in bytes.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if part.offset > 0 { finish(log) }
            line += part.element.prefix(max(0, StandardError.lineBytesMax - line.count))
        }
    }

    /// Nothing follows.
    mutating func end(_ log: (String) -> Void) {
        finish(log)
        guard quota.leftOut > 0 else { return }
        tell(quota.leftOut - 1, log)
        log(String(decoding: last, as: UTF8.self))
    }

    private mutating func finish(_ log: (String) -> Void) {
        guard !line.isEmpty else { return }
        defer { line.removeAll(keepingCapacity: true) }
        guard quota.admits() else {
            last = line
            return
        }
        log(String(decoding: line, as: UTF8.self))
    }

    private func tell(_ leftOut: Int, _ log: (String) -> Void) {
        if leftOut > 0 { log(LineQuota.words(leftOut)) }
    }
}
