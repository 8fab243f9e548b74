/// Detects that gateways of a fleet stay on different configurations. During a reload they differ for a short time.
struct ConfigurationDifferences {
    private static let patienceMs: Int64 = 60_000

    private var sinceUnixMs: Int64?
    private var isTold = false

    /// Takes the result of a heartbeat: the configuration of each gateway; nil if all have the same.
    mutating func heard(_ all: String?, nowUnixMs: Int64) -> PostgresNotice? {
        guard let all else {
            defer { (sinceUnixMs, isTold) = (nil, false) }
            return isTold ? .configurationsAgree : nil
        }
        let since = sinceUnixMs ?? nowUnixMs
        sinceUnixMs = since
        guard !isTold, nowUnixMs > since + Self.patienceMs else { return nil }
        isTold = true
        return .configurationsDiffer(all)
    }
}
