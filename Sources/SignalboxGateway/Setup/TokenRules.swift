internal import SignalboxConfig
internal import SignalboxCore

/// What a token stands for: routes say which sender uses it, and that plugin's schema whether it is a device's secret
/// or an address that others know.
struct TokenRules: Sendable {
    let platforms: PlatformSenders
    private let plugins: [String: CheckedPlugin]

    init(_ plan: GatewayPlan) {
        platforms = PlatformSenders(plan.config.routes.map(\.route))
        plugins = Dictionary(plan.plugins.map { ($0.name, $0) }, uniquingKeysWith: { a, _ in a })
    }

    /// Whether a sender uses the token as the address of a person, chat or audience: knowing it proves nothing.
    func isAddress(_ device: Device) -> Bool {
        platforms.senders(of: device.platform).contains {
            plugins[$0]?.isAddress(device) ?? false
        }
    }

    /// The platforms on which a device's token means the same. A phone may be registered under several platforms of its
    /// sender; for an address the platform may be part of it, as in Airship's named users.
    func platforms(of device: Device) -> Set<String> {
        guard !isAddress(device) else { return [device.platform] }
        return platforms.platforms(with: device.platform).filter {
            var other = device
            other.platform = $0
            return !isAddress(other)
        }
    }
}
