/// A validated entry of `routes:`: how events become pushes.
public struct Route: Sendable {
    /// Name in gateway.yaml.
    public var name: String
    /// Plugin instances whose events it takes.
    public var sources: [String]
    /// The condition that an event must meet.
    public var condition: Condition
    /// What its events pass before they are built, in their order.
    public var filters: [Filter] = []
    /// Plugin instance that builds its notifications.
    public var builder: String
    /// The builder's options, a JSON object.
    public var builderOptions: JSONText
    /// Values that replace fields of the built notification.
    public var set: ContentTemplates
    /// Senders by platform.
    public var senders: [String: String]
    /// Retry, expiry, priority, collapse key.
    public var rules: DeliveryRules
    /// Its pushes carry an `OpenMark`, because a receiver wants the outcome `opened`.
    public var marksOpens = false

    /// A plugin instance that filters the events of a route.
    public struct Filter: Sendable {
        /// Name in gateway.yaml.
        public var instance: String
        /// Its options, a JSON object.
        public var options: JSONText

        /// Makes one.
        public init(_ instance: String, options: JSONText = "{}") {
            self.instance = instance
            self.options = options
        }
    }

    /// Whether two recipients of one event may get different content.
    var readsRecipient: Bool {
        self.set.readsRecipient || rules.collapse?.readsRecipient == true
    }

    /// Whether a built notification will show a text that the user can open.
    func shows(_ notification: PushNotification) -> Bool {
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
    /// Expiry of a delivery, in milliseconds after the gateway received its event.
    public var expiresMs: UInt64 = 24 * 3600 * 1000
    /// Priority of notifications whose builder sets none.
    public var priority: Priority = .normal
    /// The collapse key: a newer notification with the same key replaces the shown one.
    public var collapse: Template?

    /// The defaults.
    public init() {}
}
