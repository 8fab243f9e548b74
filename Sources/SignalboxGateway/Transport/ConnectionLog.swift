internal import Logging
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Log lines and metrics of a sender's push connections to an endpoint.
final class ConnectionLog: Sendable {
    private let sender: String
    /// Nil if apps share the connections.
    private let app: String?
    private let logger: Logger
    private let metrics: GatewayMetrics
    private let outage = Mutex(ConnectOutage())

    init(_ sender: String, app: String?, _ logger: Logger, _ metrics: GatewayMetrics) {
        (self.sender, self.app, self.logger, self.metrics) = (sender, app, logger, metrics)
    }

    func write(_ event: PushPoolEvent) {
        metrics.connectionEvents[sender, event.kind.rawValue].add()
        var fields: Logger.Metadata = ["plugin.instance": "\(sender)"]
        if let app { fields["app"] = "\(app)" }
        if let line = line(event) {
            switch line {
            case .began: fields["reason"] = "\(event.text)"
            case .lasts(let attempts, let ms):
                fields["reason"] = "\(event.text)"
                fields["attempts"] = "\(attempts)"
                fields["outage_ms"] = "\(ms)"
            case .ended(let attempts, let ms):
                fields["attempts"] = "\(attempts)"
                fields["outage_ms"] = "\(ms)"
                fields["held"] = "\(event.waiting)"
            }
            logger.log(level: line.level, "\(line.words)", metadata: fields)
            return
        }
        fields["event"] = "\(event.kind.rawValue)"
        fields["detail"] = "\(event.text)"
        logger.log(level: event.isFault ? .warning : .debug, "push connection", metadata: fields)
    }

    private func line(_ event: PushPoolEvent) -> ConnectOutage.Line? {
        let nowMs = SystemClock.monotonicNs / 1_000_000
        return switch event.kind {
        case .connectFailed: outage.withLock { $0.failed(nowMs: nowMs) }
        case .connected: outage.withLock { $0.connected(nowMs: nowMs) }
        case .goAway, .closed, .pingTimeout, .stalled: nil
        }
    }
}

/// A period without a connection to a provider: logs its start, once per interval, and its end.
struct ConnectOutage {
    enum Line: Equatable {
        case began
        case lasts(attempts: Int, ms: UInt64)
        case ended(attempts: Int, ms: UInt64)

        var level: Logger.Level { if case .ended = self { .notice } else { .warning } }

        var words: StaticString {
            switch self {
            case .began: "cannot connect to the provider, its pushes wait"
            case .lasts: "still cannot connect to the provider, its pushes wait"
            case .ended: "connected to the provider again"
            }
        }
    }

    static let intervalMs: UInt64 = 30_000
    private var attempts = 0
    private var sinceMs: UInt64 = 0
    private var writtenMs: UInt64 = 0

    mutating func failed(nowMs: UInt64) -> Line? {
        attempts += 1
        guard attempts > 1 else {
            (sinceMs, writtenMs) = (nowMs, nowMs)
            return .began
        }
        guard nowMs >= writtenMs + Self.intervalMs else { return nil }
        writtenMs = nowMs
        return .lasts(attempts: attempts, ms: nowMs - sinceMs)
    }

    mutating func connected(nowMs: UInt64) -> Line? {
        guard attempts > 0 else { return nil }
        defer { attempts = 0 }
        return .ended(attempts: attempts, ms: nowMs - sinceMs)
    }
}
