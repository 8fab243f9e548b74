internal import Glibc
internal import SignalboxThreads
internal import Synchronization

/// Lines on their way to a descriptor.
///
/// A thread of its own writes them, so a log reader that blocks stops nothing. Lines that find no room are dropped
/// and counted. Thread: any.
public final class LogWriter: Sendable {
    /// Standard error. What waits when the program exits is written before it ends, unless that takes a second.
    public static let standardError: LogWriter = {
        atexit { LogWriter.standardError.flush(withinMs: 1_000) }
        return LogWriter(STDERR_FILENO, bytesMax: LogWriter.bytesMax)
    }()

    /// Most bytes that wait for the reader of a log.
    static let bytesMax = 4 << 20
    /// How long a line of a fault waits until it is written: the program may be about to crash.
    static let patienceMs: UInt64 = 20
    /// Lines up to here are written whole, also to a pipe that other processes write to.
    private static let partBytesMax = Int(PIPE_BUF)

    private struct State {
        var bytes: [UInt8] = []
        /// Bytes that the thread has taken.
        var writing = 0
        /// Bytes that were ever added and ever written.
        var (added, written): (UInt64, UInt64) = (0, 0)
        /// Lines dropped since the log said so.
        var dropped = 0
        /// A line of a fault was waited for in vain, and nothing has been written since.
        var isStuck = false
        /// The line that says how many were dropped.
        var droppedLine: (@Sendable (Int) -> [UInt8])?
    }

    private let gate = Gate(State())
    private let descriptor: Int32
    private let roomMax: Int
    private let patienceMs: UInt64
    private let droppedTotal = Atomic<Int>(0)
    private let vainTotal = Atomic<Int>(0)

    init(_ descriptor: Int32, bytesMax: Int, patienceMs: UInt64 = LogWriter.patienceMs) {
        self.descriptor = descriptor
        self.patienceMs = patienceMs
        roomMax = bytesMax
        SystemThread.start("sbx-log") { self.run() }
    }

    /// Lines that were dropped so far.
    public var droppedCount: Int { droppedTotal.load(ordering: .relaxed) }

    /// How often a fault waited until the time was over.
    var waitsInVain: Int { vainTotal.load(ordering: .relaxed) }

    /// Says how to write the line that says how many lines were dropped.
    func tellDropped(by line: @escaping @Sendable (Int) -> [UInt8]) {
        gate.updateAll { $0.droppedLine = line }
    }

    /// Adds a line with its end, or drops it.
    ///
    /// `isFault`: waits a moment until it is written, unless the reader has stopped.
    func write(_ line: [UInt8], isFault: Bool) {
        var end: UInt64?
        gate.updateAll { state in
            guard state.writing + state.bytes.count + line.count <= roomMax else {
                state.dropped += 1
                droppedTotal.wrappingAdd(1, ordering: .relaxed)
                return
            }
            Self.add(line, to: &state)
            if isFault, !state.isStuck { end = state.added }
        }
        guard let end, !wait(for: end, withinMs: patienceMs) else { return }
        vainTotal.wrappingAdd(1, ordering: .relaxed)
        gate.updateAll { $0.isStuck = true }
    }

    /// Waits until what was added so far is written, at most so long; whether it is.
    @discardableResult
    public func flush(withinMs ms: UInt64) -> Bool {
        wait(for: gate.update { $0.added }, withinMs: ms)
    }

    private func wait(for end: UInt64, withinMs ms: UInt64) -> Bool {
        let deadline = SystemClock.monotonicNs + ms * 1_000_000
        return gate.wait(until: { state in
            if state.written >= end { return (true, nil) }
            return SystemClock.monotonicNs < deadline ? (nil, deadline) : (false, nil)
        })
    }

    private static func add(_ line: [UInt8], to state: inout State) {
        state.bytes += line
        state.added += UInt64(line.count)
    }

    private func run() {
        while true {
            let part = gate.wait(for: { state -> [UInt8]? in
                guard !state.bytes.isEmpty else { return nil }
                let part = state.bytes
                (state.bytes, state.writing) = ([], part.count)
                return part
            })
            let lost = put(part)
            if lost > 0 { droppedTotal.wrappingAdd(lost, ordering: .relaxed) }
            gate.updateAll { state in
                state.writing = 0
                state.written += UInt64(part.count)
                state.isStuck = false
                state.dropped += lost
                guard state.dropped > 0, lost == 0, let line = state.droppedLine else { return }
                Self.add(line(state.dropped), to: &state)
                state.dropped = 0
            }
        }
    }

    /// Writes lines, as many at once as the system keeps together. Returns how many the system refused.
    private func put(_ lines: [UInt8]) -> Int {
        let newline = UInt8(ascii: "\n")
        var start = 0
        while start < lines.count {
            let end = Self.partEnd(of: lines, from: start)
            guard put(lines[start..<end]) else { return lines[start...].count { $0 == newline } }
            start = end
        }
        return 0
    }

    /// Where a part ends that holds as many whole lines as the system keeps together; a longer line is a part of its own.
    static func partEnd(of lines: [UInt8], from start: Int) -> Int {
        let end = start + partBytesMax
        guard end < lines.count else { return lines.count }
        let newline = UInt8(ascii: "\n")
        let last =
            lines[start..<end].lastIndex(of: newline) ?? lines[end...].firstIndex(of: newline)
        return last.map { $0 + 1 } ?? lines.count
    }

    private func put(_ part: ArraySlice<UInt8>) -> Bool {
        var left = part
        while !left.isEmpty {
            let count = left.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                left = left.dropFirst(count)
            } else if count < 0, errno == EAGAIN {
                var wish = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&wish, 1, -1)
            } else if count == 0 || errno != EINTR {
                return false
            }
        }
        return true
    }
}
