import SignalboxPluginKit

/// The kind of a Desk message, and whether a customer may see it.
///
/// The rule is conservative: messages for agents are recognized by a prefix, not by a list of
/// names, and an unreadable admin message is never shown.
enum Kind: String {
    case message, notification, rich
    case botMessage = "bot_message"
    case closeRequest = "close_request"
    case satisfactionRequest = "satisfaction_request"

    /// A message's kind, or the reason why it gives no push.
    enum Decision: Equatable {
        case push(Kind)
        case hide(String)
    }

    /// Values of `custom_type`; the second one is from the documentation's sample.
    private static let systemTypes: Set = [
        "SENDBIRD_DESK_ADMIN_MESSAGE_CUSTOM_TYPE", "ADMIN_MESSAGE_CUSTOM_TYPE",
    ]
    private static let legacySystemTypes: Set = [
        "TICKET_ASSIGN", "TICKET_TRANSFER", "TICKET_CLOSE",
    ]

    /// `dataType` and `state` are nil if `data` is not an object; it is readable if it is one, or missing.
    private static func decide(
        type: String, customType: String, dataType: String?, state: String?, isReadable: Bool,
        showsAdmin: Bool
    ) -> Decision {
        let data = dataType ?? ""
        if systemTypes.contains(customType) || data.hasPrefix("SYSTEM_MESSAGE_")
            || legacySystemTypes.contains(data)
        {
            return .hide("system_message")
        }
        switch data {
        case "SENDBIRD_DESK_URL_PREVIEW": return .hide("url_preview")
        case "SENDBIRD_DESK_INQUIRE_TICKET_CLOSURE":
            return state == "WAITING" ? .push(.closeRequest) : .hide("answered")
        case "SENDBIRD_DESK_CUSTOMER_SATISFACTION":
            return state == "WAITING" ? .push(.satisfactionRequest) : .hide("answered")
        default: break
        }
        if type == "ADMM" {
            let isNotification =
                data.hasPrefix("NOTIFICATION_") || data == "SENDBIRD:AUTO_EVENT_MESSAGE"
            // What cannot be read may hold a system marker.
            if isNotification || showsAdmin && isReadable { return .push(.notification) }
            return .hide(dataType == nil ? "undecodable" : "unknown_admin_message")
        }
        switch customType {
        case "SENDBIRD_DESK_RICH_MESSAGE": return .push(.rich)
        case "SENDBIRD_DESK_BOT_MESSAGE": return .push(.botMessage)
        default: return .push(.message)
        }
    }

    /// Decides for the message in a webhook's or an event's data.
    static func decide(_ data: JSON, host: Host, showsAdmin: Bool) -> Decision {
        let object = host.object(in: data.at("/payload/data")) ?? given(data["payload_data"])
        let raw = data.at("/payload/data")
        let isMissing = raw == nil || raw?.kind == .null || raw?.string == ""
        let types = [
            data.at("/payload/custom_type")?.string, data["custom_type"]?.string,
        ].compactMap { $0 }.filter { !$0.isEmpty }
        // If there are two types, the one that hides the message counts.
        let hiding = types.first { systemTypes.contains($0) }
        return decide(
            type: data["type"]?.string ?? data.at("/payload/type")?.string ?? "",
            customType: hiding ?? types.first ?? "",
            dataType: object?["type"]?.string, state: object?.at("/body/state")?.string,
            isReadable: object != nil || isMissing, showsAdmin: showsAdmin)
    }

    private static func given(_ value: JSON?) -> JSON? { value?.kind == .object ? value : nil }

    /// Whether a message is Desk's: its channels and messages have their own types.
    static func isDesk(_ data: JSON, host: Host) -> Bool {
        let texts = [
            data.at("/channel/custom_type")?.string, data.at("/payload/custom_type")?.string,
            host.object(in: data.at("/payload/data"))?["type"]?.string,
        ]
        return texts.contains { text in
            guard let text else { return false }
            return text.hasPrefix("SENDBIRD_DESK_") || text.hasPrefix("SYSTEM_MESSAGE_")
                || text.hasPrefix("NOTIFICATION_") || legacySystemTypes.contains(text)
        }
    }
}
