public import Logging
public import SignalboxCore
internal import SignalboxObservability

/// A log whose lines go to the embedding program.
struct ProgramLog: Sendable {
    typealias Line = @Sendable (Logger.Level, String, [Attribute]) -> Void

    /// The initial level; nil for that of `gateway.log.level`.
    let level: Logger.Level?
    let line: Line

    func logger(_ level: LogLevel) -> Logger {
        Logger(label: "signalbox") { _ in ProgramLogHandler(line: line, level: level) }
    }
}

extension GatewayOptions {
    /// Passes log lines to the program, on a gateway thread, with their fields in order.
    ///
    /// The initial level is `level`, or else `gateway.log.level` of the configuration; `POST /log-level` changes it.
    public mutating func setLog(
        level: Logger.Level? = nil,
        _ line: @escaping @Sendable (Logger.Level, String, [Attribute]) -> Void
    ) {
        logger = nil
        programLog = ProgramLog(level: level, line: line)
    }

    /// Logs why a gateway with these options did not start.
    public func logFaults(_ error: ConfigurationError) {
        let logger = logger ?? programLog?.logger(LogLevel(.error))
        for fault in error.diagnostics {
            logger?.error("configuration fault", metadata: ["fault": "\(fault)"])
        }
    }
}

private struct ProgramLogHandler: LogHandler {
    let line: ProgramLog.Line
    let level: LogLevel
    var metadata: Logger.Metadata = [:]
    private var own: Logger.Level?
    var logLevel: Logger.Level {
        get { own ?? level.level }
        set { own = newValue }
    }

    init(line: @escaping ProgramLog.Line, level: LogLevel) {
        self.line = line
        self.level = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
            .map { Attribute($0.key, "\($0.value)") }.filter { !$0.value.isEmpty }
        line(event.level, "\(event.message)", fields)
    }
}
