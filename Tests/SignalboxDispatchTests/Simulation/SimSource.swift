import SignalboxCore
import Synchronization

@testable import SignalboxDispatch

/// A request of the source.
struct SimRequest: Sendable {
    let number: Int
    let source: String
    var events: [Event]
    var changes: [DeviceChange] = []

    /// What gateways route: events of `brief` expire soon.
    static func rules(_ providers: [SimProvider]) -> RigRules {
        var senders: [String: String] = [:]
        for provider in providers where provider.key.kind == .push {
            senders["on \(provider.key.sender)"] = provider.key.sender
        }
        let routes = ["chat", "brief"].map { source in
            var rules = DeliveryRules()
            if source == "brief" { rules.expiresMs = 20_000 }
            var route = Route(
                name: source == "chat" ? "r" : source, sources: [source], builder: "b",
                senders: senders, rules: rules)
            route.filters = [Route.Filter("quiet")]
            return route
        }
        return RigRules(routes, sources: ["chat", "brief"])
    }
}

/// Sends events, each again until a gateway has answered for good, as webhooks and buses do.
final class SimSource: Sendable {
    private struct Sent {
        var request: SimRequest
        /// Devices that each event must reach, by its subject.
        var wanted: [String: Set<String>] = [:]
        var answer: StoreAnswer?
    }

    private struct State {
        var sent: [Sent] = []
        var lastSubject = 0
        /// Tokens that users have registered, by user and app, and the source was told so.
        var known: [UserKey: Set<String>] = [:]
    }

    private let clock: SimClock
    /// Whether all pushes of a lane are for one device and share a few collapse keys.
    private let collapses: Bool
    private let state = Mutex(State())

    init(_ clock: SimClock, _ store: SimStore, collapses: Bool) {
        (self.clock, self.collapses) = (clock, collapses)
    }

    /// Sends a request for a provider's devices.
    func send(to provider: SimProvider, by world: SimWorld) {
        let place = state.withLock { state in
            state.sent.append(made(for: provider, of: world, &state))
            return state.sent.count - 1
        }
        send(place, by: world)
    }

    private func send(_ place: Int, by world: SimWorld) {
        let request = state.withLock { $0.sent[place].request }
        world.anyGateway.take(request) { [self] answer in
            state.withLock { Self.note(answer, of: place, &$0) }
        }
        clock.outside(ms: 5_000 + clock.dice(10_000)) { [self] in
            if state.withLock({ $0.sent[place].answer == nil }) { send(place, by: world) }
        }
    }

    private static func note(_ answer: StoreAnswer, of place: Int, _ state: inout State) {
        switch answer {
        case .committed, .unprocessable, .tooLarge: break
        case .full, .diskFull, .failed, .unavailable: return
        }
        if state.sent[place].answer == nil { state.sent[place].answer = answer }
        guard case .committed = answer else { return }
        for change in state.sent[place].request.changes {
            state.known[UserKey(app: change.device.app, user: change.device.user), default: []]
                .insert(change.device.token)
        }
    }

    // MARK: Requests

    private func made(
        for provider: SimProvider, of world: SimWorld, _ state: inout State
    ) -> Sent {
        let source = clock.chance(0.1) ? "brief" : "chat"
        var sent = Sent(
            request: SimRequest(number: state.sent.count, source: source, events: []))
        for _ in 0...(collapses || clock.chance(0.2) ? clock.dice(4) : 0) {
            state.lastSubject += 1
            let subject = "e\(state.lastSubject)"
            let recipients =
                collapses
                ? [recipient("t", provider)]
                : recipients(subject, provider, world, state, &sent.wanted[subject, default: []])
            sent.request.events.append(
                Event(
                    source: source, type: clock.chance(0.02) ? "poison" : "message",
                    subject: subject, dedupe: subject, recipients: recipients))
            if collapses { sent.wanted[subject] = ["t"] }
        }
        if clock.chance(0.2), !collapses {
            var device = recipient("t\(state.lastSubject)-new", world.providers[0]).device
            device.user = "u\(clock.dice(3))"
            sent.request.changes.append(DeviceChange(kind: .registered, device: device))
        }
        return sent
    }

    private func recipients(
        _ subject: String, _ provider: SimProvider, _ world: SimWorld, _ state: State,
        _ wanted: inout Set<String>
    ) -> [Recipient] {
        var out: [Recipient] = []
        for number in 0...clock.dice(5) {
            let token = "\(subject)-\(number)"
            wanted.insert(token)
            out.append(recipient(token, clock.chance(0.1) ? world.anyProvider : provider))
        }
        if clock.chance(0.3) {
            let user = UserKey(app: world.providers[0].key.app, user: "u\(clock.dice(3))")
            wanted.formUnion(state.known[user] ?? [])
            out.append(Recipient(device: Device(app: user.app, user: user.user)))
        }
        return out
    }

    private func recipient(_ token: String, _ provider: SimProvider) -> Recipient {
        let key = provider.key
        return Recipient(
            device: Device(app: key.app, platform: "on \(key.sender)", token: token))
    }

    // MARK: Judgement

    /// What must hold at the end: each event was stored once, for all its devices.
    func faults(_ store: SimStore) -> [String] {
        let commits = store.commits
        return state.withLock { $0.sent }.flatMap { sent -> [String] in
            let name = "request \(sent.request.number)"
            switch sent.answer {
            case nil: return ["\(name) is never answered"]
            case .committed:
                return sent.request.events.flatMap { Self.faults($0, sent.wanted, commits) }
            case .some(let answer):
                let isPoison = sent.request.events.allSatisfy { $0.type == "poison" }
                return isPoison ? [] : ["\(name) is refused: \(answer.words)"]
            }
        }
    }

    private static func faults(
        _ event: Event, _ wanted: [String: Set<String>], _ commits: [String: [[Delivery]]]
    ) -> [String] {
        let found = commits[event.subject] ?? []
        if event.type == "poison" {
            return found.allSatisfy(\.isEmpty) ? [] : ["\(event.subject) is poison and was stored"]
        }
        var out: [String] = []
        if found.count != 1 { out.append("\(event.subject) was stored \(found.count) times") }
        let missing = (wanted[event.subject] ?? [])
            .subtracting(found.joined().map(\.device.token))
        if !missing.isEmpty { out.append("\(event.subject) missed \(missing.sorted())") }
        return out
    }
}
