internal import SignalboxCore

/// The filter role of an isolated instance.
final class IsolatedFilter: Filtering {
    private let instance: IsolatedInstance
    private let trial: EventTrial

    init(_ instance: IsolatedInstance, _ trial: EventTrial) {
        self.instance = instance
        self.trial = trial
    }

    /// Filters an event; fails as the builder does.
    func filter(
        _ event: Event, recipients: [Recipient], route: String, options: JSONText,
        nowUnixMs: UInt64
    ) -> Result<Filtered, PluginFault> {
        let asked = instance.waiting(forEvent: PluginCalls.filter) {
            trial.ask(event, route: route) {
                ask(event, recipients, route: route, options: options, nowUnixMs: nowUnixMs)
            }
        }
        return asked.mapError { $0.fault(instance.name) }.flatMap(\.result)
    }

    private func ask(
        _ event: Event, _ recipients: [Recipient], route: String, options: JSONText,
        nowUnixMs: UInt64
    ) -> Result<WireResult<Filtered>, WorkEnd> {
        instance.ask(
            .filter,
            {
                let message = BuildMessage(
                    event: event, recipients: recipients, route: route, options: options.text)
                $0.put(FilterMessage(asked: message, nowUnixMs: nowUnixMs))
            },
            check: { answer throws(WireFault) in
                guard case .success(let made) = answer.result else { return }
                try Self.check(
                    made, recipientCount: recipients.count, nowUnixMs: nowUnixMs)
            })
    }

    /// What the sink of a plugin in this process refuses is a fault of the other process.
    private static func check(
        _ made: Filtered, recipientCount: Int, nowUnixMs: UInt64
    ) throws(WireFault) {
        var bounds = FilterBounds(nowUnixMs: nowUnixMs)
        var named: Set<Int> = []
        let all = made.parts.flatMap(\.recipients) + made.drops.map(\.recipient)
        for recipient in all {
            guard recipient < recipientCount, named.insert(recipient).inserted else {
                throw WireFault("there is no such recipient, or it is named twice")
            }
        }
        for part in made.parts {
            let count = part.data?.text.utf8.count ?? 0
            guard bounds.isSoon(part.notBeforeUnixMs), bounds.hasRoom(for: count) else {
                throw WireFault("a filter's data is too large, or its pushes wait too long")
            }
            bounds.took(count)
        }
    }
}
