import SendbirdPush
import SignalboxPluginKit
import Synchronization

/// A user's push preference, `GET /v3/users/{user_id}/push_preference`.
struct Preference: Sendable {
    let trigger: String
    let hasQuietHours: Bool
    /// Minutes after midnight, in the user's time zone.
    let start: Int
    let end: Int
    let zone: String
    /// Unix milliseconds; nil if not snoozed.
    let snooze: ClosedRange<UInt64>?
    let blockedBots: Set<String>
    let takesReplies: Bool
    let sound: String

    init(_ json: JSON) {
        func number(_ key: String) -> Int { Int(min(60, max(0, json[key]?.number ?? 0))) }
        trigger = json["push_trigger_option"]?.string ?? "all"
        hasQuietHours = json["do_not_disturb"]?.flag ?? false
        start = number("start_hour") * 60 + number("start_min")
        end = number("end_hour") * 60 + number("end_min")
        let zone = json["timezone"]?.string ?? ""
        self.zone = zone.isEmpty ? "UTC" : zone
        let from = UInt64(clamping: json["snooze_start_ts"]?.number ?? 0)
        let to = UInt64(clamping: json["snooze_end_ts"]?.number ?? 0)
        let isSnoozed = json["snooze_enabled"]?.flag ?? false
        snooze = isSnoozed && to >= from ? from...to : nil
        let isBlocking = json["block_push_from_bots"]?.flag ?? false
        blockedBots = Set(json["push_blocked_bot_ids"]?.elements.compactMap(\.string) ?? [])
            .union(isBlocking ? ["*"] : [])
        takesReplies = json["enable_push_for_replies"]?.flag ?? true
        sound = json["push_sound"]?.string ?? ""
    }

    /// Why a message must not reach the user now; nil if it may.
    ///
    /// `offsetSeconds` is the user's offset from UTC.
    func skip(
        _ message: Message, user: String, channelTrigger: String, nowMs: UInt64,
        offsetSeconds: Int32, isBot: Bool
    ) -> Skip? {
        // A channel's own setting takes precedence; "default" means the user's.
        if channelTrigger == "default",
            let skip = ChatMember.skip(trigger: trigger, id: user, message)
        {
            return skip
        }
        if hasQuietHours, isQuiet(nowMs: nowMs, offsetSeconds: offsetSeconds) { return .quietHours }
        if let snooze, snooze.contains(nowMs) { return .snoozed }
        if blockedBots.contains(message.senderID) || isBot && blockedBots.contains("*") {
            return .blockedBot
        }
        return message.isReply && !takesReplies ? .reply : nil
    }

    /// The window may cross midnight; with equal start and end it is the whole day.
    func isQuiet(nowMs: UInt64, offsetSeconds: Int32) -> Bool {
        let seconds = Int64(nowMs / 1000) + Int64(offsetSeconds)
        let minute = Int((seconds % 86_400 + 86_400) % 86_400) / 60
        if start == end { return true }
        return start < end
            ? minute >= start && minute < end : minute >= start || minute < end
    }

    static func call(_ config: Config, token: String, user: String) -> HTTPCall {
        config.get("/v3/users/\(PathSegment.encode(user))/push_preference", token)
    }
}

/// The template that a user has chosen, `GET /v3/users/{user_id}/push/template`.
enum ChosenTemplate {
    static func call(_ config: Config, token: String, user: String) -> HTTPCall {
        config.get(
            "/v3/users/\(PathSegment.encode(user))/push/template", token, timeoutMs: 1_000)
    }
}

/// Caches what users have set, so that a busy channel does not fetch the same values repeatedly.
final class UserCache<Value: Sendable>: Sendable {
    private let lifeMs: UInt64 = 60_000
    private let entriesMax = 10_000
    private let known = Mutex<[String: (value: Value, untilMs: UInt64)]>([:])

    func find(_ user: String, nowMs: UInt64) -> Value? {
        known.withLock { known in
            guard let entry = known[user], entry.untilMs > nowMs else { return nil }
            return entry.value
        }
    }

    func keep(_ value: Value, of user: String, nowMs: UInt64) {
        known.withLock { known in
            if known.count >= entriesMax { known.removeAll() }
            known[user] = (value, nowMs + lifeMs)
        }
    }
}
