internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxPluginHost

/// The filters and builders that events ask, and the ids they get.
struct EventPorts: IntakePorts {
    let generation: Generation
    let current: CurrentGeneration
    let ids: IDSource
    let nowUnixMs: UInt64

    func takeEventID() -> UInt64? { ids.nextID() }

    func takeIDs(_ count: Int) -> DeliveryIDs? { ids.take(count) }

    func filter(
        _ question: RoutedEvent.Question, with filter: Route.Filter, on route: Route
    ) -> Result<Filtered, StageFault> {
        ask({ $0.filters[filter.instance] }) { role in
            role.filter(
                question.fields.event, recipients: question.recipients, route: route.name,
                options: filter.options, nowUnixMs: nowUnixMs)
        }
    }

    func build(
        _ question: RoutedEvent.Question, on route: Route
    ) -> Result<BuildResult, StageFault> {
        ask({ $0.builders[route.builder] }) { role in
            role.build(
                question.fields.event, recipients: question.recipients, route: route.name,
                options: route.builderOptions)
        }
    }

    /// Asks an instance, or its successor if it was just replaced.
    private func ask<Role, Answer>(
        _ find: (InstanceSet) -> Role?, _ body: (Role) -> Result<Answer, PluginFault>
    ) -> Result<Answer, StageFault> {
        var role = find(generation.instances)
        while let asked = role {
            switch body(asked) {
            case .success(let answer): return .success(answer)
            case .failure(let fault):
                let next = fault.kind == .stopping ? find(current.generation.instances) : nil
                guard let next, next as AnyObject !== asked as AnyObject else {
                    return .failure(StageFault(fault))
                }
                role = next
            }
        }
        // It is configured, so the gateway has just stopped, or the instance is still starting.
        return .failure(StageFault("the instance is not running", .resend))
    }
}

extension StageFault {
    /// What a plugin's fault means for the event.
    init(_ fault: PluginFault) {
        let remedy: Remedy =
            switch fault.kind {
            case .again, .stopping: .resend
            case .lost: .giveUpForGood
            default: .giveUp
            }
        self.init(fault.message, remedy)
    }
}
