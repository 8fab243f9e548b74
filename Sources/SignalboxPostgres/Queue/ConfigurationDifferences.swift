/// Notices that gateways of a fleet keep different configurations. For a while that is how a fleet is reloaded.
struct ConfigurationDifferences {
    private static let patienceMs: Int64 = 60_000

    private var sinceUnixMs: Int64?
    private var isTold = false

    /// Takes what a beat found: which configuration each gateway has; nil: all have the same.
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
