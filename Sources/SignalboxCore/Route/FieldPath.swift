/// Names a field of an event or recipient: `ticket_id`, `notification.title`, `recipient.locale`.
///
/// `type`, `subject`, `source` and `time` are fields of the event; `recipient.NAME` is an attribute of
/// the recipient or its `user`, `locale`, `platform`, `app`; everything else, and everything
/// under `data.`, is looked up in the event's data. A number picks an array's element.
public struct FieldPath: Sendable, Hashable {
    /// The source of the value, chosen by the first part of the path.
    public enum Root: Sendable, Hashable {
        case type, subject, source, time, data, recipient
    }
    /// Where to look.
    public let root: Root
    /// The names below the root.
    public let names: [String]

    /// Parses a path; nil if it is empty or has an empty or malformed part.
    public init?(_ text: some StringProtocol) {
        var parts = text.split(separator: "." as Character, omittingEmptySubsequences: false)
            .map { String($0) }
        guard parts.count <= 32, parts.allSatisfy(Self.isName) else { return nil }
        switch parts[0] {
        case "type" where parts.count == 1: root = .type
        case "subject" where parts.count == 1: root = .subject
        case "source" where parts.count == 1: root = .source
        case "time" where parts.count == 1: root = .time
        case "recipient" where parts.count == 2:
            root = .recipient
            parts.removeFirst()
        case "data" where parts.count > 1:
            root = .data
            parts.removeFirst()
        default: root = .data
        }
        names = root == .data || root == .recipient ? parts : []
    }

    /// The path as it is written.
    public var text: String {
        let path = names.joined(separator: ".")
        switch root {
        case .type: return "type"
        case .subject: return "subject"
        case .source: return "source"
        case .time: return "time"
        case .recipient: return "recipient.\(path)"
        case .data:
            // A member of the data that has the name of a field of the event.
            let isTaken = names.count == 1 && ["type", "subject", "source", "time"].contains(path)
            return isTaken ? "data.\(path)" : path
        }
    }

    private static func isName(_ part: String) -> Bool {
        !part.isEmpty
            && part.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
                    UInt8(ascii: ":"), 0x80...:
                    true
                default: false
                }
            }
    }
}

/// An event with its parsed data, as conditions and templates read it.
public final class EventFields: Sendable {
    /// The event.
    public let event: Event
    /// The event's data, parsed.
    public let data: any ParsedJSON

    /// Combines an event with its parsed data.
    public init(event: Event, data: any ParsedJSON) {
        self.event = event
        self.data = data
    }

    /// The value of a field, or nil if it is missing.
    ///
    /// `recipient` is nil where no recipient is chosen yet.
    public func value(_ path: FieldPath, recipient: Recipient? = nil) -> JSONValue? {
        switch path.root {
        case .type: return .string(event.type)
        case .subject: return .string(event.subject)
        case .source: return .string(event.source)
        case .time: return .integer(Int64(clamping: event.timeUnixMs))
        case .recipient: return recipient.flatMap { Self.attribute(path.names[0], of: $0) }
        case .data: return data.value(at: path.names)
        }
    }

    private static func attribute(_ name: String, of recipient: Recipient) -> JSONValue? {
        if let found = recipient.attributes.first(where: { $0.key == name }) {
            return .string(found.value)
        }
        return switch name {
        case "user": .string(recipient.device.user)
        case "locale": .string(recipient.device.locale)
        case "platform": .string(recipient.device.platform)
        case "app": .string(recipient.device.app)
        default: nil
        }
    }
}
