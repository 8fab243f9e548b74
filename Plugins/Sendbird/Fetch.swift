import SendbirdPush
import SignalboxPluginKit
import Synchronization

/// Fetches a message's members, preferences or counts before it can become an event.
///
/// The webhook request stays open meanwhile. Sendbird waits five seconds, and resends it without an answer.
final class Fetch: Sendable {
    static let timeoutMs: UInt32 = 4_500
    /// Group channels with members in webhooks are small; a channel with more pages is something else.
    private static let membersMax = 2_000
    private static let pagesMax = 20
    /// Concurrent calls: the host allows few, and other webhooks need some.
    private static let callsMax = 16
    /// Limits of fetching counts, in time and in members: a push without a number is better than none.
    private static let countsMs: UInt64 = 2_500
    private static let countedMax = 100

    /// A call, and the handler of its answer.
    private struct Question: Sendable {
        let call: HTTPCall
        let take: @Sendable (Result<HTTPAnswer, PluginError>) -> Void
    }

    private let plugin: Sendbird
    private let message: Message
    private let isBot: Bool
    private let token: String
    private let open: DeferredIngest
    private let beganUnixMs: UInt64
    private let state: Mutex<State>

    private struct State {
        var members: [ChatMember]
        var chosen: [ChatMember] = []
        /// Calls still to be made.
        var questions: [Question] = []
        var untilUnixMs: UInt64 = .max
        var then: (@Sendable () throws(PluginError) -> Void)?
        var pending = 0
        var pages = 0
    }

    init(
        _ plugin: Sendbird, _ message: Message, members: [ChatMember], isBot: Bool, token: String,
        _ open: DeferredIngest
    ) {
        self.plugin = plugin
        self.message = message
        self.isBot = isBot
        self.token = token
        self.open = open
        beganUnixMs = plugin.host.nowUnixMs
        state = Mutex(State(members: members))
    }

    /// Fetches members page by page, then their preferences, then emits the event.
    func members(next: String = "") {
        let call = MembersPage.call(
            plugin.config, token: token, channelURL: message.channelURL, next: next)
        plugin.host.send(call) { result in
            self.open.attempt { () throws(PluginError) in
                let page = try self.page(result)
                guard let list = page["members"], list.kind == .array else {
                    throw PluginError(.again, "the Platform API's answer has no list of members")
                }
                let found = list.elements.compactMap { ChatMember($0) }
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
        // A bad answer is not the webhook's fault, so Sendbird should send it again.
        guard case .success(let answer) = result else {
            throw PluginError(.again, "the Platform API gave no usable answer for the members")
        }
        guard answer.status == 200, let json = try? plugin.host.parse(answer.body.span) else {
            throw PluginError(
                .again, "the Platform API answered \(answer.status) when asked for members")
        }
        return json
    }

    /// Keeps the members who may get the push; fetches their preferences, if configured.
    func filtered() throws(PluginError) {
        let candidates = state.withLock { $0.members }.filter { plugin.isChosen($0, message) }
        if message.isDeleted {
            try finish(candidates)
            return
        }
        guard plugin.config.fetchesPreferences else {
            state.withLock { $0.chosen = candidates }
            try counted()
            return
        }
        let now = plugin.host.nowUnixMs
        var questions: [Question] = []
        for member in candidates {
            if let known = plugin.preferences.find(member.id, nowMs: now) {
                take(member, known)
            } else {
                questions.append(
                    Question(call: Preference.call(plugin.config, token: token, user: member.id)) {
                        self.arrived($0, member)
                    })
            }
        }
        try ask(questions) { () throws(PluginError) in try self.counted() }
    }

    /// Makes a few calls at a time; `then` runs after the last answer.
    private func ask(
        _ questions: [Question], untilUnixMs: UInt64 = .max,
        then: @escaping @Sendable () throws(PluginError) -> Void
    ) throws(PluginError) {
        guard !questions.isEmpty else {
            try then()
            return
        }
        state.withLock { state in
            state.pending = questions.count
            state.questions = questions
            state.untilUnixMs = untilUnixMs
            state.then = then
        }
        for _ in 0..<min(Self.callsMax, questions.count) { next() }
    }

    private func next() {
        let now = plugin.host.nowUnixMs
        while let (question, isLate) = state.withLock({ state in
            state.questions.popLast().map { ($0, now >= state.untilUnixMs) }
        }) {
            guard isLate else {
                plugin.host.send(question.call) { result in
                    self.take(result, question)
                    self.next()
                }
                return
            }
            take(.failure(PluginError(.timeout, "no time left for this call")), question)
        }
    }

    private func take(_ result: Result<HTTPAnswer, PluginError>, _ question: Question) {
        question.take(result)
        let then = state.withLock { state in
            state.pending -= 1
            return state.pending == 0 ? state.then : nil
        }
        if let then { open.attempt(then) }
    }

    private func arrived(_ result: Result<HTTPAnswer, PluginError>, _ member: ChatMember) {
        if let json = json(result) {
            let preference = Preference(json)
            plugin.preferences.keep(preference, of: member.id, nowMs: plugin.host.nowUnixMs)
            take(member, preference)
        } else {
            // An unknown preference does not block the push: the webhook's own settings were already applied.
            plugin.counters.preferenceUnavailable.add()
            if member.isDoNotDisturb {
                plugin.counters.skipped[.doNotDisturb]?.add()
            } else {
                state.withLock { $0.chosen.append(member) }
            }
        }
    }

    private func take(_ member: ChatMember, _ preference: Preference) {
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

    /// Fills in the counts of members that have none.
    private func counted() throws(PluginError) {
        let chosen = state.withLock { $0.chosen }
        let missing = chosen.filter { $0.unread == nil || $0.channelUnread == nil }
        guard plugin.config.fetchesMembers, !missing.isEmpty else {
            try finish(chosen)
            return
        }
        let asked = missing.prefix(Self.countedMax)
        plugin.counters.countUnavailable.add(UInt64(missing.count - asked.count))
        var questions = asked.filter { $0.unread == nil }.map { member in
            Question(call: Counts.total(plugin.config, token: token, user: member.id)) { result in
                let count = self.json(result)?["unread_count"]?.number
                self.note(count, of: member.id) { $0.unread = $1 }
            }
        }
        let users = asked.filter { $0.channelUnread == nil }.map(\.id)
        for start in stride(from: 0, to: users.count, by: Counts.usersMax) {
            let part = Array(users[start..<min(start + Counts.usersMax, users.count)])
            let call = Counts.ofChannel(
                plugin.config, token: token, channelURL: message.channelURL, users: part)
            questions.append(
                Question(call: call) { result in
                    let counts = self.json(result)?["unread"]
                    for user in part {
                        self.note(counts?[user]?.number, of: user) { $0.channelUnread = $1 }
                    }
                })
        }
        try ask(questions, untilUnixMs: beganUnixMs + Self.countsMs) { () throws(PluginError) in
            try self.finish(self.state.withLock { $0.chosen })
        }
    }

    private func note(
        _ count: Int64?, of user: String, _ set: (inout ChatMember, Int64) -> Void
    ) {
        guard let count else {
            plugin.counters.countUnavailable.add()
            return
        }
        state.withLock { state in
            guard let index = state.chosen.firstIndex(where: { $0.id == user }) else { return }
            set(&state.chosen[index], count)
        }
    }

    private func json(_ result: Result<HTTPAnswer, PluginError>) -> JSON? {
        guard case .success(let answer) = result, answer.status == 200 else { return nil }
        return try? plugin.host.parse(answer.body.span)
    }

    private func finish(_ members: [ChatMember]) throws(PluginError) {
        if let event = plugin.event(message, members) { try open.emit(event) }
        try open.respond(200)
        open.finish()
    }
}
