internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP

/// The senders and routes that operators may name. A misspelt name would silently do nothing.
struct KnownNames: Sendable {
    private let names: [PauseEntry.Kind: Set<String>]

    init(senders: some Sequence<String>, routes: some Sequence<String>) {
        names = [.sender: Set(senders), .route: Set(routes)]
    }

    /// The names in a running gateway.
    init(_ generation: Generation) {
        self.init(
            senders: generation.instances.senders.keys,
            routes: generation.plan.routes.map(\.name))
    }

    /// The names in a configuration.
    init(_ config: GatewayConfig) {
        self.init(
            senders: config.routes.flatMap(\.route.senders.values),
            routes: config.routes.map(\.route.name))
    }

    /// Why a name is invalid: `there is no sender "apn" (did you mean "apns"?)`; nil if it is valid.
    func fault(_ kind: PauseEntry.Kind, _ name: String?) -> String? {
        guard let name, let known = names[kind], !known.contains(name) else { return nil }
        return "there is no \(kind.rawValue) \"\(name)\""
            + Suggestion.hint(for: name, among: known.sorted())
    }

    /// The same for a sender and a route, both optional.
    func fault(sender: String?, route: String?) -> String? {
        fault(.sender, sender) ?? fault(.route, route)
    }

    /// The same for dead letters, whose sender or route may since have been removed.
    func fault(
        of selection: DeadFilter, in store: any DeadLetterStore
    ) async throws -> String? {
        for (kind, name) in [(PauseEntry.Kind.sender, selection.sender), (.route, selection.route)]
        {
            guard let fault = fault(kind, name) else { continue }
            var filter = DeadFilter()
            if kind == .sender { filter.sender = name } else { filter.route = name }
            if try await store.deadCount(filter) == 0 { return fault }
        }
        return nil
    }
}

extension GatewayOptions {
    /// The system user who runs a command.
    var operatorName: String {
        environment.variables["SUDO_USER"] ?? environment.variables["USER"] ?? ""
    }
}
