/// A route's `build.set` and `build.overrides`: templates that replace fields of the built notification.
public struct ContentTemplates: Sendable {
    /// A field of a notification that `set:` can set.
    public enum Field: String, Sendable, CaseIterable {
        case title, subtitle, body, sound, badge, thread, category, collapse, image, link
        case pushType = "push_type"
        case withdraw
    }

    /// JSON whose texts are templates. A text that is `{{ field | json }}` is the field's value.
    public indirect enum JSONTemplate: Sendable {
        case constant(JSONValue)
        case text(Template)
        case list([JSONTemplate])
        case map([(key: String, value: JSONTemplate)])

        func render(_ fields: EventFields, recipient: Recipient?) -> JSONValue {
            switch self {
            case .constant(let value): value
            case .text(let template):
                if let path = template.wholeValue {
                    fields.value(path, recipient: recipient) ?? .null
                } else {
                    .string(template.render(fields, recipient: recipient))
                }
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

    /// A text in the app's own resources, by its key.
    public struct LocalizedField: Sendable {
        /// Key of the text in the app's resources.
        public var key: Template
        /// Arguments for the text's placeholders.
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
    /// What a tap opens, by platform, because links differ by platform.
    public var links: [String: Template] = [:]
    /// Localized texts of `title`, `subtitle` and `body`. A sender that does not support them sends the
    /// field's own text.
    public var localized: [(field: Field, text: LocalizedField)] = []
    /// The badge is the user's counter, which each event increments.
    public var countsBadge = false
    /// Members of the notification's data.
    public var data: [(key: String, template: Template)] = []
    /// Values that are merged into a sender's payload, by family.
    public var overrides: [(family: String, value: JSONTemplate)] = []

    /// Changes nothing.
    public init() {}

    /// Whether two recipients of one event may get different content.
    public var readsRecipient: Bool {
        !links.isEmpty || fields.contains(where: \.template.readsRecipient)
            || data.contains(where: \.template.readsRecipient)
            || overrides.contains(where: \.value.readsRecipient)
            || localized.contains(where: \.text.readsRecipient)
    }

    /// Applies the templates to a notification.
    ///
    /// `dataObject` is the notification's parsed data, used only if `data` has members.
    public func apply(
        to notification: inout PushNotification, dataObject: JSONValue, fields values: EventFields,
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
