internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// Sends the gateway's figures to open admin pages each second, as server-sent events.
///
/// The figures are computed once for all readers, and not at all without readers. For the plots of the last hour, a
/// point is recorded every ten seconds in any case.
package final class LiveFeed: Sendable {
    /// Further readers are answered 503.
    static let readersMax = 16
    /// An hour.
    static let pointsMax = 360
    private static let paceMs: UInt64 = 1_000
    private static let looksMax = 5
    private static let pointMs: UInt64 = 10_000

    private struct State {
        var readers: [Int: AnswerStream] = [:]
        var lastNumber = 0
        var isTelling = false
        /// The last seconds, oldest first, over which rates are averaged.
        var looks: [LiveLook] = []
        var lastKept: LiveLook?
        var points: [JSONValue] = []
        var greeting: JSONValue = .null
    }

    /// Takes a look: with `/readyz` for readers, without it for the plots.
    typealias Look = @Sendable (_ isWhole: Bool) async -> LiveLook
    /// What a page needs before the figures: names, and the graph of routes.
    typealias Greeting = @Sendable () -> JSONValue

    private let alarms: AlarmClock
    private let look: Look
    private let greeting: Greeting
    private let state = Mutex(State())

    init(_ alarms: AlarmClock, greeting: @escaping Greeting, look: @escaping Look) {
        self.alarms = alarms
        self.greeting = greeting
        self.look = look
    }

    /// Starts recording points.
    package func start() { Task { await keep() } }

    /// How many pages are open.
    var readerCount: Int { state.withLock { $0.readers.count } }

    /// The answer to a new reader: the greeting with the last hour, then the figures.
    func open() -> HTTPServerAnswer {
        let greeting = greeting()
        let opened = state.withLock { state -> (AnswerStream, [JSONValue], isFirst: Bool)? in
            guard state.readers.count < Self.readersMax else { return nil }
            state.lastNumber += 1
            let number = state.lastNumber
            let stream = AnswerStream { [weak self] in
                self?.state.withLock { $0.readers[number] = nil }
            }
            state.readers[number] = stream
            state.greeting = greeting
            defer { state.isTelling = true }
            return (stream, state.points, !state.isTelling)
        }
        guard let (stream, points, isFirst) = opened else {
            return Problem.busy("\(Self.readersMax) admin pages are open; close one")
        }
        var answer = HTTPServerAnswer(
            status: 200,
            headers: [Attribute("content-type", "text/event-stream")],
            body: Self.event("hello", greeting) + Self.event("history", .array(points)))
        answer.stream = stream
        if isFirst { Task { await tell() } }
        return answer
    }

    /// Sends the figures to all readers each second, until no reader is left.
    private func tell() async {
        let greeting = greeting()
        let now = await look(true)
        // After a gap, rates since the last recorded point are better than none.
        let since = state.withLock { $0.looks.first ?? $0.lastKept }
        let sample = Self.event("sample", LiveChange(now, since: since).sample)
        let (readers, parts) = state.withLock { state -> ([AnswerStream], [UInt8]) in
            let isNews = greeting != state.greeting
            state.greeting = greeting
            state.isTelling = !state.readers.isEmpty
            state.looks = state.isTelling ? (state.looks + [now]).suffix(Self.looksMax) : []
            return (
                Array(state.readers.values),
                (isNews ? Self.event("hello", greeting) : []) + sample
            )
        }
        guard !readers.isEmpty else { return }
        for reader in readers { reader.send(parts) }
        alarms.after(ms: Self.paceMs) { [weak self] in
            if let self { Task { await self.tell() } }
        }
    }

    private func keep() async {
        let now = await look(false)
        let (readers, point) = state.withLock { state -> ([AnswerStream], JSONValue?) in
            let point = state.lastKept.map { LiveChange(now, since: $0).point }
            state.lastKept = now
            if let point {
                state.points = state.points.suffix(Self.pointsMax - 1) + [point]
            }
            return (Array(state.readers.values), point)
        }
        if let point, !readers.isEmpty {
            let part = Self.event("point", point)
            for reader in readers { reader.send(part) }
        }
        alarms.after(ms: Self.pointMs) { [weak self] in
            if let self { Task { await self.keep() } }
        }
    }

    private static func event(_ name: String, _ data: JSONValue) -> [UInt8] {
        Array("event: \(name)\ndata: \(data.text)\n\n".utf8)
    }
}
