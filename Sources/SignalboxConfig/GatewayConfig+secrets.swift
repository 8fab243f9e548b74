internal import SignalboxCore

extension GatewayConfig {
    /// The non-empty secrets of the gateway's own sections; schemas mark those of plugins.
    ///
    /// Never logged, and not shown with the configuration.
    package var secrets: [String] {
        var out = gateway.adminToken.map { [$0] } ?? []
        if let store = gateway.store, store.hasPassword { out.append(store.address) }
        if let tls = gateway.tls { out.append(String(decoding: tls.key, as: UTF8.self)) }
        out += gateway.tracing?.headers.map(\.value) ?? []
        out += deviceClients.map(\.token)
        out += deviceUsers.compactMap { $0.code?.clientSecret }
        for case .web(_, let secret, _) in outcomeReceivers.map(\.target) { out.append(secret) }
        out += plugins.compactMap(\.proxy).filter { $0.contains("@") }
        return out.filter { !$0.isEmpty }
    }
}
