internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway

/// What came of a trial: the whole way from what came in to the requests to providers.
///
/// Nothing was sent or stored. Tokens of devices are shown as `{token}`, secrets as `{secret}`.
package struct TrialReport: Sendable {
    /// What a plugin made of a webhook.
    struct Webhook: Sendable {
        var instance: String
        var path: String
        var status: Int
        /// Why it was refused; nil if it was not.
        var fault: String?
        var rejects: [(reason: String, detail: String)] = []
        /// Changes of the device registry that it asks for.
        var changes: [(kind: String, user: String)] = []
    }

    /// An event on all routes.
    package struct OneEvent: Sendable {
        var event: Event
        /// How many the source named; the event's own are devices.
        var recipientCount = 0
        /// How long its key is remembered, in milliseconds.
        var dedupeMs: UInt64
        var routes: [OnRoute]
    }

    /// An event on one route.
    struct OnRoute: Sendable {
        var name: String
        /// Why the route does not take it; empty if it does.
        var whyNot: [String]
        var builder = ""
        /// Why a filter or the builder failed; nil if none did.
        var fault: String?
        var skips: [(device: Device, reason: String)] = []
        var pushes: [Push] = []
    }

    /// A notification for one device.
    package struct Push: Sendable {
        var sender: String
        var device: Device
        /// The device was made up, because the user has none here.
        var isInvented: Bool
        var notification: PushNotification
        var badge: Int32?
        /// When a filter lets it be sent, in Unix milliseconds; nil: at once.
        var notBeforeUnixMs: UInt64?
        /// Why there is no request; nil if there is one.
        var fault: String?
        /// The sender has a transport of its own, so that no request can be shown.
        var hasOwnTransport = false
        var requests: [Request] = []

        /// It would leave the gateway.
        var isSent: Bool { hasOwnTransport || !requests.isEmpty }

        /// Its time is over at the deadline: before that, it must be let out. 0: never.
        mutating func expire(_ deadlineUnixMs: UInt64, nowUnixMs: UInt64) {
            let firstUnixMs = max(nowUnixMs, notBeforeUnixMs ?? 0)
            guard deadlineUnixMs > 0, deadlineUnixMs <= firstUnixMs else { return }
            fault = "expired at \(TimeText.utc(deadlineUnixMs))"
            requests = []
            hasOwnTransport = false
        }
    }

    /// A request to a provider.
    struct Request: Sendable {
        var method: String
        /// Origin and path.
        var url: String
        var headers: [Attribute]
        /// JSON if it is JSON, otherwise text.
        var body: JSONValue
        /// How many bytes count towards the limit.
        var bytes: Int
        /// The provider's limit; nil if the plugin declares none.
        var bytesMax: Int?
        /// Texts that were shortened to keep to it.
        var shortened: [String]
    }

    var webhook: Webhook?
    package var events: [OneEvent] = []
    /// Calls of plugins to their sources' systems.
    var calls: [OfflineServices.Call] = []
    /// Variables and files that are missing, and were replaced.
    var standIns: [String] = []
    /// What plugins logged as a warning or error, and which rules they broke.
    var notes: [String] = []

    /// All pushes with their routes.
    package var pushes: [(route: String, push: Push)] {
        events.flatMap { event in
            event.routes.flatMap { route in route.pushes.map { (route.name, $0) } }
        }
    }

    package var sendsAnything: Bool { pushes.contains(where: \.push.isSent) }
}
