import SignalboxPluginKit
import Synchronization

/// A message whose members or preferences must be fetched before it can become an event.
///
/// The webhook stays open meanwhile; Sendbird waits five seconds, and sends again if there is no answer.
final class Fetch: Sendable {
    static let timeoutMs: UInt32 = 4_500
    /// Group channels that have members in webhooks have few; more pages than this is another thing.
    private static let membersMax = 2_000
    private static let pagesMax = 20
    /// Preferences that are asked for at once: the host has room for few calls, and others want some.
    private static let callsMax = 16

    private let plugin: Sendbird
    private let message: Message
    private let isBot: Bool
    private let token: String
    private let open: DeferredIngest
    private let state: Mutex<State>

    private struct State {
        var members: [Member]
        var chosen: [Member] = []
        /// Members whose preferences are still to be asked for.
        var missing: [Member] = []
        var pending = 0
        var pages = 0
    }

    init(
        _ plugin: Sendbird, _ message: Message, members: [Member], isBot: Bool, token: String,
        _ open: DeferredIngest
    ) {
        self.plugin = plugin
        self.message = message
        self.isBot = isBot
        self.token = token
        self.open = open
        state = Mutex(State(members: members))
    }

    /// Members page by page, then their preferences, then the event.
    func members(next: String = "") {
        let call = MembersPage.call(
            plugin.config, token: token, channelURL: message.channelURL, next: next)
        plugin.host.send(call) { result in
            self.open.attempt { () throws(PluginError) in
                let page = try self.page(result)
                let found = page["members"]?.elements.compactMap { Member($0) } ?? []
                let isEnough = self.state.withLock { state in
                    state.members += found
                    state.pages += 1
                    return state.members.count >= Self.membersMax || state.pages >= Self.pagesMax
                }
                let next = page["next"]?.string ?? ""
                if next.isEmpty || isEnough {
                    try self.filtered()
                } else {
                    self.members(next: next)
                }
            }
        }
    }

    private func page(_ result: Result<HTTPAnswer, PluginError>) throws(PluginError) -> JSON {
        let answer = try result.get()
        guard answer.status == 200, let json = try? plugin.host.parse(answer.body.span) else {
            throw PluginError(
                .again, "the Platform API answered \(answer.status) when asked for members")
        }
        return json
    }

    /// Keeps the members who may get it; asks for their preferences, if that is wanted.
    func filtered() throws(PluginError) {
        let candidates = state.withLock { $0.members }.filter { plugin.isChosen($0, message) }
        guard plugin.config.fetchesPreferences, !candidates.isEmpty else {
            try finish(candidates)
            return
        }
        let now = plugin.host.nowUnixMs
        var missing: [Member] = []
        for member in candidates {
            if let known = plugin.preferences.find(member.id, nowMs: now) {
                take(member, known)
            } else {
                missing.append(member)
            }
        }
        guard !missing.isEmpty else {
            try finish(state.withLock { $0.chosen })
            return
        }
        let all = missing
        state.withLock { state in
            state.pending = all.count
            state.missing = all
        }
        for _ in 0..<min(Self.callsMax, all.count) { ask() }
    }

    private func ask() {
        guard let member = state.withLock({ $0.missing.popLast() }) else { return }
        let call = Preference.call(plugin.config, token: token, user: member.id)
        plugin.host.send(call) { result in
            self.arrived(result, member)
            self.ask()
        }
    }

    private func arrived(_ result: Result<HTTPAnswer, PluginError>, _ member: Member) {
        if case .success(let answer) = result, answer.status == 200,
            let json = try? plugin.host.parse(answer.body.span)
        {
            let preference = Preference(json)
            plugin.preferences.keep(preference, of: member.id, nowMs: plugin.host.nowUnixMs)
            take(member, preference)
        } else {
            // Unknown is not "no": what the webhook says of the member has been honoured.
            plugin.counters.preferenceUnavailable.add()
            if member.isDoNotDisturb {
                plugin.counters.skipped[.doNotDisturb]?.add()
            } else {
                state.withLock { $0.chosen.append(member) }
            }
        }
        let isLast = state.withLock { state in
            state.pending -= 1
            return state.pending == 0
        }
        guard isLast else { return }
        open.attempt { () throws(PluginError) in try finish(state.withLock { $0.chosen }) }
    }

    private func take(_ member: Member, _ preference: Preference) {
        let now = plugin.host.nowUnixMs
        let offset =
            preference.hasQuietHours
            ? plugin.host.utcOffset(zone: preference.zone, unixMs: now) ?? 0 : 0
        if let skip = preference.skip(
            message, user: member.id, channelTrigger: member.trigger, nowMs: now,
            offsetSeconds: offset, isBot: isBot)
        {
            plugin.counters.skipped[skip]?.add()
            return
        }
        var chosen = member
        chosen.sound = preference.sound
        let one = chosen
        state.withLock { $0.chosen.append(one) }
    }

    private func finish(_ members: [Member]) throws(PluginError) {
        if let event = plugin.event(message, members) { try open.emit(event) }
        try open.respond(200)
        open.finish()
    }
}
