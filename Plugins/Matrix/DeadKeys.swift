import SignalboxPluginKit

/// Pushkeys that providers have reported dead, in the instance's durable store.
struct DeadKeys: Sendable {
    /// A homeserver learns of it with the next event; after this time there is hardly one to come.
    private static let keptMs: UInt64 = 90 * 86_400_000
    /// Anybody who reaches the path may name pushkeys, so there is room for so many. One that lost its room to another is reported
    /// dead again after the next push.
    private static let slots: UInt64 = 16_384

    private let host: Host

    init(_ host: Host) { self.host = host }

    /// Remembers a pushkey.
    ///
    /// If it is lost with the process, the next push to it is reported dead again.
    func add(_ pushkey: String, unixMs: UInt64) {
        let host = host
        let value = Array("\(unixMs) \(pushkey)".utf8)
        host.set(Self.slot(of: pushkey), value, ttlMs: Self.keptMs) { result in
            guard case .failure(let error) = result else { return }
            host.write(
                .warn, "cannot remember a dead pushkey; it is reported again after the next push",
                [("error", error.message)])
        }
    }

    /// An event, and the pushkey it is for.
    struct Question: Sendable {
        let pushkey: String
        let pushkeyUnixMs: UInt64
        let event: Event
    }

    /// Events whose pushkeys live, and dead pushkeys.
    typealias Sorted = (living: [Event], dead: [String])
    typealias Done = @Sendable (Result<Sorted, PluginError>) -> Void

    /// Tells the living from the dead; one look-up after the other.
    func sort(_ questions: [Question], then done: @escaping Done) {
        next(questions[...], [], [], done)
    }

    private func next(
        _ rest: ArraySlice<Question>, _ living: [Event], _ dead: [String], _ done: @escaping Done
    ) {
        guard let question = rest.first else {
            done(.success((living, dead)))
            return
        }
        host.value(Self.slot(of: question.pushkey)) { result in
            switch result {
            case .failure(let error): done(.failure(error))
            case .success(let value):
                if Self.isDead(question, value) {
                    next(rest.dropFirst(), living, dead + [question.pushkey], done)
                } else {
                    next(rest.dropFirst(), living + [question.event], dead, done)
                }
            }
        }
    }

    /// A pusher that was set after the report lives: the app has registered the same token again.
    private static func isDead(_ question: Question, _ value: [UInt8]?) -> Bool {
        guard let value else { return false }
        let parts = String(decoding: value, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[1] == question.pushkey, let reported = UInt64(parts[0])
        else { return false }
        return question.pushkeyUnixMs <= reported
    }

    private static func slot(of pushkey: String) -> String {
        var print = Fingerprint()
        print.add(pushkey)
        return "dead/\((UInt64(print.text, radix: 16) ?? 0) % slots)"
    }
}
