internal import Glibc
public import Logging
internal import SignalboxCore

/// Writes one line per entry to standard error, as text or as JSON.
///
/// A line is written with one `write` call, so that lines of several threads do not mix.
public struct LineLogHandler: LogHandler {
    /// Formats of lines.
    public enum Format: String, Sendable {
        case text, json
    }

    /// Fields of every line of this logger.
    public var metadata: Logger.Metadata = [:]
    /// Lines below this level are dropped.
    public var logLevel: Logger.Level
    private let format: Format
    private let label: String

    /// Makes a handler.
    public init(label: String, format: Format, level: Logger.Level) {
        self.label = label
        self.format = format
        logLevel = level
    }

    /// A field of every line of this logger.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes one line.
    public func log(event: LogEvent) {
        line(event).withUnsafeBytes { bytes in
            // A log that cannot be written must not stop a delivery.
            _ = write(STDERR_FILENO, bytes.baseAddress, bytes.count)
        }
    }

    /// A field without a value is left out.
    func line(_ event: LogEvent) -> [UInt8] {
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        var line: [UInt8] = []
        switch format {
        case .text: writeText(event, fields, to: &line)
        case .json: writeJSON(event, fields, to: &line)
        }
        line.append(0x0A)
        return line
    }

    private func writeText(
        _ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)],
        to line: inout [UInt8]
    ) {
        let level = "\(event.level)".uppercased()
        line.append(contentsOf: "\(Timestamp.now) \(level) \(event.message)".utf8)
        for (key, value) in fields {
            let text = "\(value)"
            if text.isEmpty { continue }
            line.append(contentsOf: " \(key)=".utf8)
            if text.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: "\"") }) {
                JSONValue.write(string: text, to: &line)
            } else {
                line.append(contentsOf: text.utf8)
            }
        }
    }

    private func writeJSON(
        _ event: LogEvent, _ fields: [(key: String, value: Logger.MetadataValue)],
        to line: inout [UInt8]
    ) {
        var members = [
            JSONValue.Member("time", .string(Timestamp.now)),
            .init("level", .string("\(event.level)")), .init("logger", .string(label)),
            .init("message", .string("\(event.message)")),
        ]
        for (key, value) in fields {
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
