internal import Glibc
public import Logging
internal import SignalboxCore

/// Writes one line per entry to standard error, as text or as JSON.
///
/// `LogWriter` takes the lines, so that no caller waits for who reads them.
public struct LineLogHandler: LogHandler {
    /// Formats of lines.
    public enum Format: String, Sendable {
        case text, json
    }

    /// Fields of every line of this logger.
    public var metadata: Logger.Metadata = [:]
    /// Lines below this level are dropped; a logger that sets it no longer follows the log's level.
    public var logLevel: Logger.Level {
        get { own ?? level.level }
        set { own = newValue }
    }
    private var own: Logger.Level?
    private let level: LogLevel
    private let format: Format
    private let label: String
    private let writer: LogWriter

    /// Makes a handler whose level is that of the log.
    public init(
        label: String, format: Format, level: LogLevel, writer: LogWriter = .standardError
    ) {
        self.label = label
        self.format = format
        self.level = level
        self.writer = writer
        let plain = self
        writer.tellDropped { count in
            plain.line(
                LogEvent(
                    level: .warning, message: "log lines dropped, their reader was too slow",
                    metadata: ["count": "\(count)"], source: "", file: "", function: "", line: 0))
        }
    }

    /// A field of every line of this logger.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    public func log(event: LogEvent) {
        writer.write(line(event), isFault: event.level >= .error)
    }

    /// A field without a value is left out.
    func line(_ event: LogEvent) -> [UInt8] {
        // A field `logger` stands in place of the label: a record of the audit is no line of the gateway's.
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        var line: [UInt8] = []
        switch format {
        case .text: writeText(event, fields, to: &line)
        case .json: writeJSON(event, fields, to: &line)
        }
        // Inside JSON strings, so the escapes are JSON's own. Most lines are ASCII, without control characters by now.
        if line.contains(where: { $0 >= 0x7F }) {
            line = Array(PlainText.line(String(decoding: line, as: UTF8.self)).utf8)
        }
        line.append(0x0A)
        return line
    }

    private func writeText(
        _ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)],
        to line: inout [UInt8]
    ) {
        let level = "\(event.level)".uppercased()
        line.append(contentsOf: "\(Timestamp.now) \(level) ".utf8)
        // Words and names of fields may be a plugin's: they begin no line of their own.
        Self.write("\(event.message)", to: &line, unless: "")
        for (key, value) in fields {
            let text = "\(value)"
            if text.isEmpty { continue }
            line.append(0x20)
            Self.write(key, to: &line, unless: " ")
            line.append(UInt8(ascii: "="))
            Self.write(text, to: &line, unless: " \"")
        }
    }

    /// Text as it is, or as a JSON string if it steers who reads it or has a character that its place forbids.
    private static func write(_ text: String, to line: inout [UInt8], unless forbidden: String) {
        if PlainText.isSteered(by: text)
            || text.utf8.contains(where: { forbidden.utf8.contains($0) })
        {
            JSONValue.write(string: text, to: &line)
        } else {
            line.append(contentsOf: text.utf8)
        }
    }

    private func writeJSON(
        _ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)],
        to line: inout [UInt8]
    ) {
        var members = [
            JSONValue.Member("time", .string(Timestamp.now)),
            .init("level", .string("\(event.level)")),
            .init(
                "logger",
                .string(fields.first { $0.key == "logger" }.map { "\($0.value)" } ?? label)),
            .init("message", .string("\(event.message)")),
        ]
        for (key, value) in fields where key != "logger" {
            let text = "\(value)"
            if !text.isEmpty { members.append(.init(key, .string(text))) }
        }
        JSONValue.object(members).write(to: &line)
    }
}

/// The wall clock as text.
enum Timestamp {
    /// `2026-01-02T03:04:05.678Z`.
    static var now: String {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        var parts = tm()
        gmtime_r(&time.tv_sec, &parts)
        let year = pad(Int(parts.tm_year) + 1900, 4)
        let date = "\(year)-\(pad(Int(parts.tm_mon) + 1, 2))-\(pad(Int(parts.tm_mday), 2))"
        let clock =
            "\(pad(Int(parts.tm_hour), 2)):\(pad(Int(parts.tm_min), 2)):\(pad(Int(parts.tm_sec), 2))"
        return "\(date)T\(clock).\(pad(time.tv_nsec / 1_000_000, 3))Z"
    }

    private static func pad(_ value: Int, _ width: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, width - text.count)) + text
    }
}
