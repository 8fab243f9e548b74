/// Durations in the notation of gateway.yaml.
public enum DurationText {
    private static let units: [(suffix: String, ms: UInt64)] = [
        ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000),
    ]

    /// `10m`, `5s`, `1500ms`.
    public static func of(ms: UInt64) -> String {
        if ms == 0 { return "0s" }
        for (suffix, unit) in units where ms % unit == 0 { return "\(ms / unit)\(suffix)" }
        return "\(ms)ms"
    }

    /// The two largest units, for people: `3 h 12 min`.
    public static func rough(ms: UInt64) -> String {
        let seconds = ms / 1_000
        return switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min \(seconds % 60) s"
        case ..<86_400: "\(seconds / 3_600) h \(seconds / 60 % 60) min"
        default: "\(seconds / 86_400) d \(seconds / 3_600 % 24) h"
        }
    }
}
