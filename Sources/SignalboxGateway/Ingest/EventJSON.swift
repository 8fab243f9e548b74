public import SignalboxCore
internal import SignalboxJSON

/// Parses a program's events from JSON, one or an array, with the names of the C structs.
public enum EventJSON {
    private static let eventKeys = [
        "type", "subject", "dedupe", "dedupe_window_ms", "data", "time_unix_ms", "recipients",
    ]
    private static let recipientKeys = [
        "app", "platform", "provider", "token", "source_token", "user", "locale", "attributes",
    ]

    /// Parses events; an error names the place and never the value.
    public static func read(_ text: [UInt8]) throws(SubmitError) -> [Event] {
        let root: JSONValue
        do throws(JSONFault) {
            root = try JSONValue.parse(text)
        } catch {
            throw fault("the text is no JSON: \(error.message)")
        }
        return try read(root)
    }

    /// Reads events from parsed JSON.
    package static func read(_ root: JSONValue) throws(SubmitError) -> [Event] {
        guard case .array(let items) = root else { return [try event(root, "the event")] }
        var out: [Event] = []
        for (index, item) in items.enumerated() { out.append(try event(item, "event \(index)")) }
        return out
    }

    private static func event(_ value: JSONValue, _ owner: String) throws(SubmitError) -> Event {
        let members = try object(value, owner, known: eventKeys)
        var event = Event(type: "")
        for member in members {
            let place = "\(owner): \(member.key)"
            switch member.key {
            case "type": event.type = try text(member.value, place)
            case "subject": event.subject = try text(member.value, place)
            case "dedupe": event.dedupe = try text(member.value, place)
            case "data":
                guard case .object = member.value else {
                    throw fault("\(place) must be an object")
                }
                event.data = member.value.text
            case "dedupe_window_ms":
                guard case .integer(let ms) = member.value, ms >= 0 else {
                    throw fault("\(place) must be a number of milliseconds")
                }
                event.dedupeWindowMs = UInt64(ms)
            case "time_unix_ms":
                guard case .integer(let ms) = member.value, ms >= 0 else {
                    throw fault("\(place) must be milliseconds since 1970")
                }
                event.timeUnixMs = UInt64(ms)
            default:
                guard case .array(let items) = member.value else {
                    throw fault("\(place) must be an array")
                }
                var recipients: [Recipient] = []
                for (index, item) in items.enumerated() {
                    recipients.append(try recipient(item, "\(owner): recipients/\(index)"))
                }
                event.recipients = recipients
            }
        }
        return event
    }

    /// Reads a recipient.
    package static func recipient(
        _ value: JSONValue, _ owner: String
    ) throws(SubmitError) -> Recipient {
        var recipient = Recipient(device: Device())
        for member in try object(value, owner, known: recipientKeys) {
            let place = "\(owner): \(member.key)"
            switch member.key {
            case "app": recipient.device.app = try text(member.value, place)
            case "platform": recipient.device.platform = try text(member.value, place)
            case "provider": recipient.device.provider = try text(member.value, place)
            case "token": recipient.device.token = try text(member.value, place)
            case "source_token": recipient.device.sourceToken = try text(member.value, place)
            case "user": recipient.device.user = try text(member.value, place)
            case "locale": recipient.device.locale = try text(member.value, place)
            default:
                guard case .object(let pairs) = member.value else {
                    throw fault("\(place) must be an object")
                }
                for pair in pairs {
                    recipient.attributes.append(
                        Attribute(pair.key, try text(pair.value, "\(place)/\(pair.key)")))
                }
            }
        }
        return recipient
    }

    private static func object(
        _ value: JSONValue, _ owner: String, known: [String]
    ) throws(SubmitError) -> [JSONValue.Member] {
        guard case .object(let members) = value else { throw fault("\(owner) must be an object") }
        for member in members where !known.contains(member.key) {
            guard member.key != "specversion" else {
                throw fault(
                    "\(owner) is a CloudEvent, which a plugin takes as a webhook "
                        + "(signalbox explain: --webhook INSTANCE)")
            }
            throw fault(
                "\(owner) has the unknown key \"\(member.key)\""
                    + Suggestion.hint(for: member.key, among: known) + "; known: "
                    + known.joined(separator: ", "))
        }
        return members
    }

    private static func text(_ value: JSONValue, _ place: String) throws(SubmitError) -> String {
        guard case .string(let text) = value else { throw fault("\(place) must be text") }
        return text
    }

    private static func fault(_ message: String) -> SubmitError {
        SubmitError(kind: .invalid, message: message)
    }
}
