internal import Synchronization

/// A notification that many deliveries point to, with what they share of their event; equal identity means
/// equal content.
public final class SharedNotification: Sendable {
    /// The content.
    public let notification: Notification
    /// The event's type.
    public let eventType: String
    /// The event's dedupe key, which names it for its source; empty: it has none, or a very long one.
    public let eventKey: String
    /// The data as its builder's host parsed it.
    private let data: (any ParsedJSON)?
    private let json = AtomicLazyReference<Parsed>()

    /// Wraps a content for sharing; `data` is its data, parsed, where that is known.
    public init(
        _ notification: Notification, eventType: String = "", eventKey: String = "",
        data: (any ParsedJSON)? = nil
    ) {
        self.notification = notification
        self.eventType = eventType
        self.eventKey = eventKey.utf8.count <= OutcomeResult.textBytesMax ? eventKey : ""
        self.data = data
    }

    /// A JSON text of a content.
    public enum Part: Sendable {
        /// Its data.
        case data
        /// One of its overrides.
        case override(Int)
    }

    /// A part, parsed: the first who asks parses it with `parse`, for all senders and attempts.
    public func parsed(
        _ part: Part, _ parse: (String) -> (any ParsedJSON)?
    ) -> (any ParsedJSON)? {
        if case .data = part, let data { return data }
        let parsed = json.load() ?? json.storeIfNil(Parsed(self, parse))
        switch part {
        case .data: return parsed.data
        case .override(let index): return parsed.overrides[index]
        }
    }

    private final class Parsed: Sendable {
        let data: (any ParsedJSON)?
        let overrides: [(any ParsedJSON)?]

        init(_ content: SharedNotification, _ parse: (String) -> (any ParsedJSON)?) {
            let note = content.notification
            data = content.data ?? (note.data.isEmpty ? nil : parse(note.data))
            overrides = note.overrides.map { parse($0.json) }
        }
    }
}
