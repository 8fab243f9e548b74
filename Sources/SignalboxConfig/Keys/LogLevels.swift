/// The levels of the log.
public enum LogLevels {
    /// From the most lines to the fewest.
    public static let all = ["trace", "debug", "info", "notice", "warning", "error"]
}
