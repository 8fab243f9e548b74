/// Which senders serve a platform, as the routes say.
///
/// A token identifies a phone only for one sender: to another sender the same text may be a mail address. So a search
/// for devices by token is limited to the platforms of a sender.
public struct PlatformSenders: Sendable {
    private var senders: [String: Set<String>] = [:]
    private var platforms: [String: Set<String>] = [:]

    /// Takes the senders of the routes.
    public init(_ routes: [Route] = []) {
        for (platform, sender) in routes.lazy.flatMap(\.senders) {
            // As devices spell it.
            let platform = platform.lowercased()
            senders[platform, default: []].insert(sender)
            platforms[sender, default: []].insert(platform)
        }
    }

    /// All platforms that a route sends to.
    public var known: [String] { senders.keys.sorted() }

    /// The instances that send to a platform.
    public func senders(of platform: String) -> Set<String> { senders[platform] ?? [] }

    /// The platforms that an instance sends to.
    public func platforms(of sender: String) -> Set<String> { platforms[sender] ?? [] }

    /// The platform and all others that one of its senders serves: a token names the same phone on each of them.
    public func platforms(with platform: String) -> Set<String> {
        senders(of: platform).reduce(into: [platform]) { $0.formUnion(platforms(of: $1)) }
    }
}
