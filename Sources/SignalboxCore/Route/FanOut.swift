/// A notification that a builder made for an event, with its targets.
public final class BuiltContent: Sendable {
    /// A recipient of a content, with its own badge.
    public struct Target: Sendable {
        /// Index into the recipients.
        public var recipient: Int
        /// This recipient's badge; nil for the notification's.
        public var badge: Int32?

        /// Makes a target.
        public init(recipient: Int, badge: Int32? = nil) {
            self.recipient = recipient
            self.badge = badge
        }
    }
    /// The content.
    public let notification: PushNotification
    /// The recipients that get it.
    public let targets: [Target]
    /// The notification's parsed data; nil if it has none.
    public let data: (any ParsedJSON)?

    /// Makes a content.
    public init(notification: PushNotification, targets: [Target], data: (any ParsedJSON)? = nil) {
        self.notification = notification
        self.targets = targets
        self.data = data
    }
}

/// Turns a builder's contents into deliveries.
///
/// A pure function of its input.
public struct FanOut: Sendable {
    /// A recipient that gets nothing, and why. The reason can be a metric label.
    public struct Skip: Sendable, Equatable {
        /// Index into the recipients.
        public var recipient: Int
        /// `no_sender`, `no_token`, `unknown_user`, ...
        public var reason: String

        /// Makes a skip.
        public init(recipient: Int, reason: String) {
            self.recipient = recipient
            self.reason = reason
        }
    }

    /// The deliveries made.
    public private(set) var deliveries: [Delivery] = []
    /// The recipients that get no delivery.
    public private(set) var skips: [Skip] = []

    /// Starts empty.
    public init() {}

    /// The recipients left out since the last call.
    public mutating func takeSkips() -> [Skip] {
        defer { skips = [] }
        return skips
    }

    /// Splits recipients into those a route can send to and those it cannot.
    public mutating func selectRecipients(of route: Route, from recipients: [Recipient]) -> [Int] {
        var chosen = ChosenRecipients(countExpected: recipients.count)
        var senders = SenderOfPlatform(route)
        for (index, recipient) in recipients.enumerated() {
            if let fault = recipient.fault {
                skips.append(Skip(recipient: index, reason: fault.rawValue))
            } else if recipient.device.token.isEmpty {
                // The registry has already replaced known users by their devices.
                let reason = recipient.device.user.isEmpty ? "no_token" : "unknown_user"
                skips.append(Skip(recipient: index, reason: reason))
            } else if senders.sender(recipient.device.platform) == nil {
                skips.append(Skip(recipient: index, reason: "no_sender"))
            } else if let left = chosen.add(index, of: recipients) {
                skips.append(Skip(recipient: left, reason: "duplicate"))
            }
        }
        return chosen.indexes
    }

    /// Makes the deliveries of one route.
    ///
    /// `recipients` are those that the builder got; `ids` has one for each target. `fromUnixMs`: when they may be sent,
    /// from where their expiry counts.
    public mutating func add(
        _ contents: [BuiltContent], route: Route, fields: EventFields,
        recipients: [Recipient], receivedUnixMs: UInt64, fromUnixMs: UInt64? = nil,
        ids: inout DeliveryIDs
    ) {
        var senders = SenderOfPlatform(route)
        for content in contents {
            let isRead = !route.set.data.isEmpty || route.marksOpens
            let data = isRead ? content.data?.value(at: []) ?? .null : .null
            let isPersonal = route.readsRecipient
            let common =
                isPersonal
                ? nil
                : Self.shared(
                    finished(content, data, route: route, fields: fields, recipient: nil),
                    of: fields.event, receivedUnixMs, content)
            let commonUse = common.map { Use(of: $0.notification, content, route) }
            // Recipients whose templates render to the same text share one content.
            var distinct: [PushNotification: SharedNotification] = [:]
            for target in content.targets {
                let recipient = recipients[target.recipient]
                guard let sender = senders.sender(recipient.device.platform) else { continue }
                let note =
                    common
                    ?? Self.shared(
                        finished(content, data, route: route, fields: fields, recipient: recipient),
                        of: fields.event, receivedUnixMs, content, in: &distinct)
                let use = commonUse ?? Use(of: note.notification, content, route)
                if let reason = use.skipReason(hasBadge: target.badge != nil) {
                    skips.append(Skip(recipient: target.recipient, reason: reason))
                    continue
                }
                let expiry = (fromUnixMs ?? receivedUnixMs) + route.rules.expiresMs
                let own = note.notification.expiresUnixMs
                let id = ids.next()
                deliveries.append(
                    Delivery(
                        id: id.id, eventID: fields.event.id, source: fields.event.source,
                        subject: fields.event.subject, route: route.name, sender: sender,
                        stableID: id.stableID, badge: target.badge,
                        deadlineUnixMs: own == 0 ? expiry : min(own, expiry), content: note,
                        device: recipient.device))
            }
        }
    }

    private static func shared(
        _ notification: PushNotification, of event: Event, _ receivedUnixMs: UInt64,
        _ built: BuiltContent
    ) -> SharedNotification {
        let isDataBuilt = notification.data == built.notification.data
        return SharedNotification(
            notification, eventType: event.type, eventKey: event.dedupe,
            receivedUnixMs: receivedUnixMs, data: isDataBuilt ? built.data : nil)
    }

    private static func shared(
        _ notification: PushNotification, of event: Event, _ receivedUnixMs: UInt64,
        _ built: BuiltContent, in distinct: inout [PushNotification: SharedNotification]
    ) -> SharedNotification {
        if let known = distinct[notification] { return known }
        let made = shared(notification, of: event, receivedUnixMs, built)
        distinct[notification] = made
        return made
    }

    private func finished(
        _ content: BuiltContent, _ dataObject: JSONValue, route: Route, fields: EventFields,
        recipient: Recipient?
    ) -> PushNotification {
        var notification = content.notification
        if notification.priority == nil { notification.priority = route.rules.priority }
        if let collapse = route.rules.collapse {
            notification.collapse = collapse.render(fields, recipient: recipient)
        }
        var dataObject = dataObject
        if route.marksOpens, route.shows(notification) {
            let mark = OpenMark(eventID: fields.event.id, route: route.name).text
            dataObject = dataObject.merging(.object([.init(OpenMark.key, .string(mark))]))
            notification.data = dataObject.text
        }
        route.set.apply(
            to: &notification, dataObject: dataObject, fields: fields, recipient: recipient)
        if recipient != nil {
            // There may be one content per recipient, so each is limited.
            notification.title = Template.bounded(notification.title)
            notification.subtitle = Template.bounded(notification.subtitle)
            notification.body = Template.bounded(notification.body)
        }
        notification.quieten(
            hasData: content.hasData(on: route),
            hasBadge: route.set.countsBadge || content.targets.contains { $0.badge != nil },
            isSoundMeant: route.set.fields.contains { $0.field == .sound })
        return notification
    }
}

extension BuiltContent {
    fileprivate func hasData(on route: Route) -> Bool {
        !route.set.data.isEmpty || !notification.data.isEmpty && notification.data != "{}"
    }
}

/// Of what use a notification is, once for all recipients that share it.
private enum Use {
    case useful
    /// It would show nothing and tell the app nothing: a bare sound, for most a misspelt field. The mark of opens is no
    /// content. A recipient's own badge makes it useful.
    case empty
    /// It withdraws a notification without saying which.
    case withdrawsNothing

    init(of note: PushNotification, _ built: BuiltContent, _ route: Route) {
        let isEmpty =
            note.title.isEmpty && note.subtitle.isEmpty && note.body.isEmpty && note.badge == nil
            && note.overrides.isEmpty && note.imageURL.isEmpty && note.pushType.isEmpty
            && !note.isSilent && !note.isWithdrawn && !built.hasData(on: route)
        self =
            note.isWithdrawn && note.collapse.isEmpty
            ? .withdrawsNothing : isEmpty ? .empty : .useful
    }

    func skipReason(hasBadge: Bool) -> String? {
        switch self {
        case .useful: nil
        case .empty: hasBadge ? nil : "empty"
        case .withdrawsNothing: "withdraw_without_collapse"
        }
    }
}

/// A route's senders; it remembers the last answer, since most recipients have the same platform.
private struct SenderOfPlatform {
    private let senders: [String: String]
    private var last: (platform: String, sender: String?)?

    init(_ route: Route) { senders = route.senders }

    mutating func sender(_ platform: String) -> String? {
        if let last, last.platform == platform { return last.sender }
        let sender = senders[platform]
        last = (platform, sender)
        return sender
    }
}
