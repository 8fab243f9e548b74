/// How events become pushes: one entry of `routes:`, checked and parsed.
public struct Route: Sendable {
    /// Name in gateway.yaml.
    public var name: String
    /// Plugin instances whose events it takes.
    public var sources: [String]
    /// What an event must be like.
    public var condition: Condition
    /// Plugin instance that builds its notifications.
    public var builder: String
    /// The builder's options, a JSON object.
    public var builderOptions: JSONText
    /// Values laid over what the builder made.
    public var set: ContentTemplates
    /// Platform to sender.
    public var senders: [String: String]
    /// Retry, expiry, priority, collapse key.
    public var rules: DeliveryRules
    /// Its pushes carry an `OpenMark`, since somebody wants to know what is opened.
    public var marksOpens = false

    /// It may give two recipients of one event different content.
    var readsRecipient: Bool {
        self.set.readsRecipient || rules.collapse?.readsRecipient == true
    }

    /// What comes of a built notification is a text that somebody can open.
    func shows(_ notification: Notification) -> Bool {
        guard !notification.isSilent, !notification.isDryRun, !notification.isWithdrawn,
            !self.set.fields.contains(where: { $0.field == .withdraw })
        else { return false }
        let isText = { (field: ContentTemplates.Field) in
            [.title, .subtitle, .body].contains(field)
        }
        return !notification.title.isEmpty || !notification.subtitle.isEmpty
            || !notification.body.isEmpty || self.set.fields.contains { isText($0.field) }
            || !self.set.localized.isEmpty
    }

    /// Makes a route.
    public init(
        name: String, sources: [String], condition: Condition = .all([]), builder: String,
        builderOptions: JSONText = "{}", set: ContentTemplates = ContentTemplates(),
        senders: [String: String], rules: DeliveryRules = DeliveryRules()
    ) {
        self.name = name
        self.sources = sources
        self.condition = condition
        self.builder = builder
        self.builderOptions = builderOptions
        self.set = set
        self.senders = senders
        self.rules = rules
    }
}

/// The `deliver:` of a route.
public struct DeliveryRules: Sendable {
    /// When a failed delivery is tried again.
    public var retry = RetryPolicy.standard
    /// A delivery is worthless so many milliseconds after its event was received.
    public var expiresMs: UInt64 = 24 * 3600 * 1000
    /// For notifications whose builder names none.
    public var priority: Priority = .normal
    /// A newer notification with the same text replaces the shown one.
    public var collapse: Template?

    /// The defaults.
    public init() {}
}
