public import Logging
internal import Synchronization

/// The level of a log, which can change while the program runs.
///
/// Thread: any; wait-free.
public final class LogLevel: Sendable {
    private let number: Atomic<Int>

    /// Begins with a level.
    public init(_ level: Logger.Level) { number = Atomic(Self.number(of: level)) }

    /// Lines below this level are dropped.
    public var level: Logger.Level {
        get {
            switch number.load(ordering: .relaxed) {
            case 0: .trace
            case 1: .debug
            case 2: .info
            case 3: .notice
            case 4: .warning
            case 5: .error
            default: .critical
            }
        }
        set { number.store(Self.number(of: newValue), ordering: .relaxed) }
    }

    private static func number(of level: Logger.Level) -> Int {
        switch level {
        case .trace: 0
        case .debug: 1
        case .info: 2
        case .notice: 3
        case .warning: 4
        case .error: 5
        case .critical: 6
        }
    }
}
