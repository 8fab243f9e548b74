/// A route's `build.set` and `build.overrides`: templates laid over what the builder made.
public struct ContentTemplates: Sendable {
    /// A field of a notification that `set:` can give.
    public enum Field: String, Sendable, CaseIterable {
        case title, subtitle, body, sound, badge, thread, category, collapse, image, link
        case pushType = "push_type"
        case withdraw
    }

    /// JSON whose texts are templates.
    public indirect enum JSONTemplate: Sendable {
        case constant(JSONValue)
        case text(Template)
        case list([JSONTemplate])
        case map([(key: String, value: JSONTemplate)])

        func render(_ fields: EventFields, recipient: Recipient?) -> JSONValue {
            switch self {
            case .constant(let value): value
            case .text(let template): .string(template.render(fields, recipient: recipient))
            case .list(let items): .array(items.map { $0.render(fields, recipient: recipient) })
            case .map(let items):
                .object(
                    items.map {
                        JSONValue.Member($0.key, $0.value.render(fields, recipient: recipient))
                    })
            }
        }

        var readsRecipient: Bool {
            switch self {
            case .constant: false
            case .text(let template): template.readsRecipient
            case .list(let items): items.contains(where: \.readsRecipient)
            case .map(let items): items.contains(where: \.value.readsRecipient)
            }
        }
    }

    /// A text that the app has in its own resources, by its name there.
    public struct LocalizedField: Sendable {
        /// Name of the text in the app's resources.
        public var key: Template
        /// Fill the text's places.
        public var arguments: [Template]

        /// Makes one.
        public init(key: Template, arguments: [Template]) {
            self.key = key
            self.arguments = arguments
        }

        var readsRecipient: Bool {
            key.readsRecipient || arguments.contains(where: \.readsRecipient)
        }
    }

    /// Fields in the file's order.
    public var fields: [(field: Field, template: Template)] = []
    /// What a tap opens, by platform: a link of one is nothing to another.
    public var links: [String: Template] = [:]
    /// Texts that the app has, of `title`, `subtitle` and `body`; a sender that does not know of them sends the
    /// field's own text.
    public var localized: [(field: Field, text: LocalizedField)] = []
    /// The badge is the user's counter: one more with each event.
    public var countsBadge = false
    /// Members of the notification's data.
    public var data: [(key: String, template: Template)] = []
    /// Laid over a sender's payload, by family.
    public var overrides: [(family: String, value: JSONTemplate)] = []

    /// Lays nothing over anything.
    public init() {}

    /// It may give two recipients of one event different content.
    public var readsRecipient: Bool {
        !links.isEmpty || fields.contains(where: \.template.readsRecipient)
            || data.contains(where: \.template.readsRecipient)
            || overrides.contains(where: \.value.readsRecipient)
            || localized.contains(where: \.text.readsRecipient)
    }

    /// Lays the values over a notification.
    ///
    /// `dataObject` is its data, parsed; it is read only where `data` has members.
    public func apply(
        to notification: inout Notification, dataObject: JSONValue, fields values: EventFields,
        recipient: Recipient?
    ) {
        if let withdraw = fields.first(where: { $0.field == .withdraw })?.template,
            withdraw.render(values, recipient: recipient) == "true"
        {
            notification.withdraw()
        }
        for (field, template) in fields {
            let text = template.render(values, recipient: recipient)
            switch field {
            case .title: notification.title = text
            case .subtitle: notification.subtitle = text
            case .body: notification.body = text
            case .sound: notification.sound = text
            case .badge: notification.badge = Int32(text) ?? notification.badge
            case .thread: notification.thread = text
            case .category: notification.category = text
            case .collapse: notification.collapse = text
            case .image: notification.imageURL = text
            case .link: notification.link = text
            case .pushType: notification.pushType = text
            case .withdraw: break
            }
        }
        if let recipient, let link = links[recipient.device.platform] {
            notification.link = link.render(values, recipient: recipient)
        }
        if !data.isEmpty {
            let members = data.map {
                JSONValue.Member($0.key, .string($0.template.render(values, recipient: recipient)))
            }
            notification.data = dataObject.merging(.object(members)).text
        }
        if !localized.isEmpty {
            let members = localized.map { field, text in
                func rendered(_ template: Template) -> JSONValue {
                    .string(template.render(values, recipient: recipient))
                }
                let own = [
                    JSONValue.Member("loc_key", rendered(text.key)),
                    .init("loc_args", .array(text.arguments.map(rendered))),
                ]
                return JSONValue.Member(field.rawValue, .object(own))
            }
            let json = JSONValue.object(members).text
            notification.overrides.append(PayloadOverride(family: "localized", json: json))
        }
        for (family, value) in overrides {
            let json = value.render(values, recipient: recipient).text
            notification.overrides.append(PayloadOverride(family: family, json: json))
        }
    }
}
