/// The levels of the log.
public enum LogLevels {
    /// From most to fewest lines.
    public static let all = ["trace", "debug", "info", "notice", "warning", "error"]
}
