internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP

/// The names of senders and routes that operators may say. A misspelt one would do nothing, and look as if it had.
struct KnownNames: Sendable {
    private let names: [PauseEntry.Kind: Set<String>]

    /// Those of a gateway that runs.
    init(_ generation: Generation) {
        names = [
            .sender: Set(generation.instances.senders.keys),
            .route: Set(generation.plan.routes.map(\.name)),
        ]
    }

    /// Those of a configuration.
    init(_ config: GatewayConfig) {
        names = [
            .sender: Set(config.routes.flatMap(\.route.senders.values)),
            .route: Set(config.routes.map(\.route.name)),
        ]
    }

    /// Why a name cannot be meant: `there is no sender "apn" (did you mean "apns"?)`; nil: it can.
    func fault(_ kind: PauseEntry.Kind, _ name: String?) -> String? {
        guard let name, let known = names[kind], !known.contains(name) else { return nil }
        return "there is no \(kind.rawValue) \"\(name)\""
            + Suggestion.hint(for: name, among: known.sorted())
    }

    /// The same for a sender and a route, either of which may be left out.
    func fault(sender: String?, route: String?) -> String? {
        fault(.sender, sender) ?? fault(.route, route)
    }

    /// The same for dead letters, which may be of something that the configuration no longer has.
    func fault(
        of selection: DeadSelection, in store: any DeadLetterStore
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
    /// Who uses a command, as the system names them.
    var operatorName: String {
        environment.variables["SUDO_USER"] ?? environment.variables["USER"] ?? ""
    }
}
