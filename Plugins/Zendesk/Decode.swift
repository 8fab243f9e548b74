import SignalboxPluginKit

/// The body of the webhook:
/// `{"devices":[{"identifier","type"}],"notification":{"title","body","ticket_id"}}`.
struct Webhook {
    /// A device in a webhook; a field is nil if it is missing or not text.
    struct Device {
        var identifier: String?
        var type: String?
    }

    let title: String
    let body: String
    /// If empty, the push opens the app without a ticket.
    let ticketID: String
    let devices: [Device]

    init(_ json: JSON) throws(PluginError) {
        guard let notification = json["notification"], notification.kind == .object else {
            throw Fault.notification.error
        }
        guard let devices = json["devices"], devices.kind == .array else {
            throw Fault.devices.error
        }
        // Documented as text; a number is accepted, too.
        ticketID = notification["ticket_id"]?.scalarText ?? ""
        title = notification["title"]?.scalarText ?? ""
        body = notification["body"]?.scalarText ?? ""
        self.devices = devices.elements.map {
            Device(identifier: $0["identifier"]?.string, type: $0["type"]?.string)
        }
    }

    /// The valid devices, and why others are rejected; a bad device does not affect the others.
    func recipients() -> (usable: [Recipient], rejects: [Reject]) {
        var usable: [Recipient] = []
        usable.reserveCapacity(devices.count)
        var rejects: [Reject] = []
        var seen = SeenTokens(count: devices.count)
        for device in devices {
            guard let identifier = device.identifier else {
                rejects.append(.noIdentifier)
                continue
            }
            guard let type = device.type, type == "ios" || type == "android" else {
                rejects.append(.unknownDeviceType)
                continue
            }
            let token = type == "ios" ? Self.cleaned(identifier) : identifier
            if token.isEmpty {
                rejects.append(.emptyToken)
            } else if token.utf8.count > 4096 {
                rejects.append(.tokenTooLong)
            } else if !seen.insert(token, type, among: usable) {
                rejects.append(.duplicate)
            } else {
                var device = SignalboxPluginKit.Device(platform: type, token: token)
                device.sourceToken = identifier
                usable.append(Recipient(device))
            }
        }
        return (usable, rejects)
    }

    /// The tokens seen so far.
    private struct SeenTokens {
        /// Up to this many tokens are compared one by one.
        private static let fewMax = 16
        private let isMany: Bool
        private var names: Set<String> = []

        init(count: Int) { isMany = count > Self.fewMax }

        /// Returns whether the token is new.
        mutating func insert(_ token: String, _ type: String, among known: [Recipient]) -> Bool {
            if isMany { return names.insert("\(type) \(token)").inserted }
            return !known.contains { $0.device.token == token && $0.device.platform == type }
        }
    }

    /// The key is the content, because the webhook has no id. The same text twice on one ticket is two replies, and
    /// no retries are documented, so the window is short: it only catches a webhook sent twice by mistake.
    private static let windowMs: UInt64 = 5_000

    /// The event; its data keeps the webhook's structure, so that `{{ notification.title }}` works.
    func event(for recipients: [Recipient]) -> Event {
        var data = JSONWriter()
        data.object { out in
            if !ticketID.isEmpty { out.member("ticket_id", ticketID) }
            out.key("notification")
            out.object { out in
                out.member("title", title)
                out.member("body", body)
                if !ticketID.isEmpty { out.member("ticket_id", ticketID) }
            }
        }
        var print = Fingerprint()
        print.add(ticketID)
        print.add(title)
        print.add(body)
        for recipient in recipients { print.add(recipient.device.token) }
        var event = Event(type: "ticket.replied", data: data.text)
        if !ticketID.isEmpty { event.subject = "ticket/\(ticketID)" }
        event.dedupe = print.text
        event.dedupeWindowMs = Self.windowMs
        event.recipients = recipients
        return event
    }

    /// Old apps registered the description of an NSData: `<0a1b 2c3d>`.
    static func cleaned(_ identifier: String) -> String {
        func isLeftOut(_ byte: UInt8) -> Bool {
            byte == UInt8(ascii: " ") || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">")
        }
        func isLower(_ byte: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        // The common case.
        let bytes = identifier.utf8.span
        if bytes.indices.allSatisfy({ isLower(bytes[$0]) }) { return identifier }
        let plain = String(decoding: identifier.utf8.filter { !isLeftOut($0) }, as: UTF8.self)
        let isHexadecimal = plain.utf8.allSatisfy {
            isLower($0) || (UInt8(ascii: "A")...UInt8(ascii: "F")).contains($0)
        }
        return isHexadecimal ? plain.lowercased() : plain
    }
}
