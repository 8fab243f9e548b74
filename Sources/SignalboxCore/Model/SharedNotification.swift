internal import Synchronization

/// A notification that many deliveries share, with fields of their event; the same object means
/// the same content.
public final class SharedNotification: Sendable {
    /// The content.
    public let notification: PushNotification
    /// The event's type.
    public let eventType: String
    /// The event's dedupe key, by which its source knows it; empty if it has none or a very long one.
    public let eventKey: String
    /// When the event's request arrived, in Unix milliseconds by the clock of the gateway that took it.
    public let receivedUnixMs: UInt64
    /// The data, if the plugin host parsed it when the content was built.
    private let data: (any ParsedJSON)?
    private let json = AtomicLazyReference<Parsed>()

    /// Wraps a content for sharing; `data` is its parsed data, if available.
    public init(
        _ notification: PushNotification, eventType: String = "", eventKey: String = "",
        receivedUnixMs: UInt64, data: (any ParsedJSON)? = nil
    ) {
        self.notification = notification
        self.eventType = eventType
        self.eventKey = eventKey.utf8.count <= OutcomeResult.textBytesMax ? eventKey : ""
        self.receivedUnixMs = receivedUnixMs
        self.data = data
    }

    /// A JSON part of a content.
    public enum Part: Sendable {
        /// The data.
        case data
        /// The override at this index.
        case override(Int)
    }

    /// A parsed part. The first caller parses it with `parse`; all senders and attempts share the result.
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
