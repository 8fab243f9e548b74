import SignalboxPluginKit

/// What is posted of a delivery.
struct Content {
    let note: PushNotification
    let token: String
    let user: String
    let platform: String
    let app: String
    /// The same on every attempt.
    let id: String
    private let badge: Int32?

    init(_ delivery: borrowing Delivery) {
        let device = delivery.device()
        note = delivery.notification()
        token = device.token
        user = device.user
        platform = device.platform
        app = device.app
        let stable = delivery.stableID
        id = String(decoding: stable.indices.map { stable[$0] }, as: UTF8.self)
        badge = delivery.badge ?? note.badge
    }

    /// There is something to read.
    var isShown: Bool {
        !note.isSilent && !(note.title + note.subtitle + note.body).isEmpty
    }

    /// The notification's data, parsed; nil if it has none.
    func data(_ host: Host) throws(PluginError) -> JSON? {
        note.data.isEmpty ? nil : try host.parse(note.data.utf8.span)
    }

    /// A text by the name that placeholders use; nil if there is no such name.
    func text(_ name: String) -> String? {
        switch name {
        case "id": id
        case "user": user
        case "token": token
        case "platform": platform
        case "app": app
        case "title": note.title
        case "subtitle": note.subtitle
        case "body": note.body
        case "link": note.link
        case "image": note.imageURL
        case "thread": note.thread
        case "collapse": note.collapse
        default: nil
        }
    }

    /// All names of `text`.
    static let names = [
        "id", "user", "token", "platform", "app", "title", "subtitle", "body", "link", "image",
        "thread", "collapse",
    ]

    /// All fields.
    func write(_ data: JSON?, to out: inout JSONWriter) {
        out.object { out in
            for name in Self.names { out.member(name, text(name) ?? "") }
            if let badge {
                out.member("badge", badge)
            }
            for (name, isSet) in [("silent", note.isSilent), ("withdrawn", note.isWithdrawn)]
            where isSet {
                out.member(name, true)
            }
            if let data {
                out.key("data")
                out.value(data)
            }
        }
    }
}
