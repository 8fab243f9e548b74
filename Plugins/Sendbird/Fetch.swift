import SendbirdPush
import SignalboxPluginKit
import Synchronization

/// A message on its way to an event: whether it was deleted before it came, and its members, preferences and counts as
/// far as they are to be fetched.
///
/// The webhook request stays open meanwhile. Sendbird waits five seconds, and resends it without an answer.
final class Fetch: Sendable {
    static let timeoutMs: UInt32 = 4_500
    /// Of a supergroup with more members the others get no push: there is no time to ask for them.
    private static let membersMax = 2_000
    /// A supergroup of as many members gets one push in the window, as documented.
    private static let superGroupMin = 100
    private static let superGroupMs: UInt64 = 600_000
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

    /// `isWhole`: all members are known.
    func begin(isWhole: Bool) {
        let goOn: @Sendable () -> Void = {
            guard isWhole else { return self.members() }
            self.open.attempt { () throws(PluginError) in try self.filtered() }
        }
        guard message.isDeleted else {
            plugin.deletions.isNoted(message.id) { $0 ? self.leaveOut(.deleted) : goOn() }
            return
        }
        plugin.deletions.note(message.id) { result in
            guard case .failure(let error) = result else { return goOn() }
            self.open.finish(PluginError(.again, error.message))
        }
    }

    private func leaveOut(_ skip: Skip) {
        plugin.counters.skipped[skip]?.add()
        open.attempt { () throws(PluginError) in
            try open.respond(200)
            open.finish()
        }
    }

    /// Takes the window of a large supergroup for this message, or leaves the message out. Another gateway, or this one
    /// when Sendbird sends the message again, sees whose it is.
    private func takeWindow(then goOn: @escaping @Sendable () throws(PluginError) -> Void) {
        var print = Fingerprint()
        print.add(message.channelURL)
        let own = Array(String(message.id).utf8)
        plugin.host.replace(
            "supergroup/\(print.text)", expected: nil, with: own, ttlMs: Self.superGroupMs
        ) { result in
            switch result {
            case .success(.done), .success(.other(own)): self.open.attempt(goOn)
            case .success: self.leaveOut(.superGroupWindow)
            case .failure(let error): self.open.finish(PluginError(.again, error.message))
            }
        }
    }

    /// Fetches members page by page, then their preferences, then emits the event.
    private func members(next: String = "") {
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
                let isLast = next.isEmpty || isEnough
                let goOn: @Sendable () throws(PluginError) -> Void = { () throws(PluginError) in
                    if isLast { try self.filtered() } else { self.members(next: next) }
                }
                guard self.isLargeSuperGroup(isLast: isLast) else { return try goOn() }
                self.takeWindow(then: goOn)
            }
        }
    }

    /// Whether the first page shows that a message is one of many of a large supergroup.
    private func isLargeSuperGroup(isLast: Bool) -> Bool {
        guard message.isSuper, !message.isDeleted else { return false }
        return state.withLock { state in
            state.pages == 1 && (!isLast || state.members.count >= Self.superGroupMin)
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
        try ask(questions) { () throws(PluginError) in try self.templated() }
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

    /// Notes who has chosen the template that hides the text.
    private func templated() throws(PluginError) {
        let now = plugin.host.nowUnixMs
        var questions: [Question] = []
        for member in state.withLock({ $0.chosen }) {
            if let isHidden = plugin.templates.find(member.id, nowMs: now) {
                note(isHidden: isHidden, of: member.id)
                continue
            }
            let call = ChosenTemplate.call(plugin.config, token: token, user: member.id)
            questions.append(
                Question(call: call) {
                    self.note(isHidden: self.hides($0, member.id), of: member.id)
                }
            )
        }
        try ask(questions, untilUnixMs: beganUnixMs + Self.countsMs) { () throws(PluginError) in
            try self.counted()
        }
    }

    /// Whether an answer says that the user's text is hidden. One that cannot be had hides it: the user may have wished so.
    private func hides(_ result: Result<HTTPAnswer, PluginError>, _ user: String) -> Bool {
        // 400, 404: there is no such user, so nothing was chosen.
        guard case .success(let answer) = result, [200, 400, 404].contains(answer.status) else {
            plugin.counters.templateUnavailable.add()
            return true
        }
        let isHidden = json(result)?["name"]?.string == "alternative"
        plugin.templates.keep(isHidden, of: user, nowMs: plugin.host.nowUnixMs)
        return isHidden
    }

    private func note(isHidden: Bool, of user: String) {
        guard isHidden else { return }
        state.withLock { state in
            for index in state.chosen.indices where state.chosen[index].id == user {
                state.chosen[index].hidesText = true
            }
        }
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
