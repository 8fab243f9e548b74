import Glibc
import Logging
import Testing

@testable import SignalboxObservability

@Suite struct LogWriterTests {
    /// A pipe and the writer of its end.
    private struct Line {
        let reader: Int32
        let writer: LogWriter

        init(bytesMax: Int, patienceMs: UInt64 = 20) {
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            reader = ends[0]
            writer = LogWriter(ends[1], bytesMax: bytesMax, patienceMs: patienceMs)
        }

        func read() -> String {
            var bytes = [UInt8](repeating: 0, count: 1 << 16)
            let count = Glibc.read(reader, &bytes, bytes.count)
            return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        }
    }

    private static func line(_ number: Int) -> [UInt8] {
        Array("line \(number) \(String(repeating: "x", count: 80))\n".utf8)
    }

    @Test func `a reader that blocks stops nothing: what finds no room is counted and told`()
        throws
    {
        let pipe = Line(bytesMax: 1 << 16)
        pipe.writer.tellDropped { Array("dropped \($0)\n".utf8) }
        // More than the pipe and the writer hold, and nobody reads.
        for number in 0..<5_000 { pipe.writer.write(Self.line(number), isFault: false) }
        let dropped = pipe.writer.droppedCount
        #expect(dropped > 1_000)
        var text = ""
        while !text.contains("dropped ") || !text.hasSuffix("\n") { text += pipe.read() }
        let lines = text.split(separator: "\n")
        let told = lines.filter { $0.hasPrefix("dropped ") }.compactMap { Int($0.dropFirst(8)) }
        #expect(told.reduce(0, +) == dropped)
        #expect(lines.count - told.count + dropped == 5_000)
        // There is room again.
        pipe.writer.write(Self.line(5_000), isFault: false)
        #expect(pipe.writer.flush(withinMs: 60_000))
        #expect(pipe.read().hasPrefix("line 5000 "))
        #expect(pipe.writer.droppedCount == dropped)
    }

    @Test func `a fault is written before its call returns, unless the reader has stopped`() throws
    {
        let pipe = Line(bytesMax: 1 << 20, patienceMs: 60_000)
        pipe.writer.write(Self.line(1), isFault: true)
        var wish = pollfd(fd: pipe.reader, events: Int16(POLLIN), revents: 0)
        #expect(poll(&wish, 1, 0) == 1)
        let stuck = Line(bytesMax: 1 << 20, patienceMs: 1)
        for number in 0..<2_000 { stuck.writer.write(Self.line(number), isFault: false) }
        #expect(!stuck.writer.flush(withinMs: 1))
        // Waited for once, and then no more: with a minute each, this test would not end.
        for number in 0..<100 { stuck.writer.write(Self.line(number), isFault: true) }
        #expect(stuck.writer.waitsInVain == 1)
    }

    @Test func `lines leave in parts that a pipe keeps together`() {
        let long = [UInt8](repeating: UInt8(ascii: "y"), count: 10_000) + [UInt8(ascii: "\n")]
        let lines = (0..<100).flatMap { Self.line($0) } + long + Self.line(100)
        var start = 0
        var parts: [ArraySlice<UInt8>] = []
        while start < lines.count {
            let end = LogWriter.partEnd(of: lines, from: start)
            parts.append(lines[start..<end])
            start = end
        }
        #expect(Array(parts.joined()) == lines)
        #expect(parts.allSatisfy { $0.last == UInt8(ascii: "\n") })
        #expect(parts.count { $0.count > 4_096 } == 1 && parts.count == 5)
    }

    @Test func `lines that the system refuses are counted`() throws {
        let pipe = Line(bytesMax: 1 << 20)
        signal(SIGPIPE, SIG_IGN)
        close(pipe.reader)
        pipe.writer.write(Self.line(1), isFault: false)
        #expect(pipe.writer.flush(withinMs: 60_000))
        #expect(pipe.writer.droppedCount == 1)
    }

    @Test func `the level of a log changes while loggers use it`() throws {
        let pipe = Line(bytesMax: 1 << 20)
        let level = LogLevel(.info)
        let logger = Logger(label: "l") {
            LineLogHandler(label: $0, format: .text, level: level, writer: pipe.writer)
        }
        logger.debug("one")
        level.level = .debug
        logger.debug("two")
        for one in Logger.Level.allCases {
            level.level = one
            #expect(logger.logLevel == one)
        }
        logger.critical("three")
        #expect(pipe.writer.flush(withinMs: 60_000))
        let text = pipe.read()
        #expect(!text.contains("one") && text.contains("two") && text.contains("three"))
    }
}
