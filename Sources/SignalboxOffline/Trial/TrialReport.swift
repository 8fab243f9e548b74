internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway

/// The result of a trial: every step from the input to the requests to providers.
///
/// Nothing was sent or stored. Tokens of devices are shown as `{token}`, secrets as `{secret}`.
package struct TrialReport: Sendable {
    /// A plugin's result for a webhook.
    struct Webhook: Sendable {
        var instance: String
        var path: String
        var status: Int
        /// Why it was refused; nil if it was accepted.
        var fault: String?
        var rejects: [(reason: String, detail: String)] = []
        /// Changes of the device registry that it requests.
        var changes: [(kind: String, user: String)] = []
    }

    /// An event and its routes.
    package struct OneEvent: Sendable {
        var event: Event
        /// How many recipients the source named; the event's own are devices.
        var recipientCount = 0
        /// How long its dedupe key is kept, in milliseconds.
        var dedupeMs: UInt64
        var routes: [OnRoute]
    }

    /// An event on one route.
    struct OnRoute: Sendable {
        var name: String
        /// Why the route does not take it; empty if it does.
        var whyNot: [String]
        var builder = ""
        /// Why a filter or the builder failed; nil if neither did.
        var fault: String?
        var skips: [(device: Device, reason: String)] = []
        var pushes: [Push] = []
    }

    /// A notification for one device.
    package struct Push: Sendable {
        var sender: String
        var device: Device
        /// Whether the device was made up, because the user has none here.
        var isInvented: Bool
        var notification: PushNotification
        var badge: Int32?
        /// When a filter lets it be sent, in Unix milliseconds; nil for at once.
        var notBeforeUnixMs: UInt64?
        /// Why there is no request; nil if there is one.
        var fault: String?
        /// Whether the sender has its own transport, so that no request can be shown.
        var hasOwnTransport = false
        var requests: [Request] = []

        /// Whether it would leave the gateway.
        var isSent: Bool { hasOwnTransport || !requests.isEmpty }

        /// Marks the push as expired if its deadline comes before it may be sent; 0 for no deadline.
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
        /// Texts that were shortened to fit it.
        var shortened: [String]
    }

    var webhook: Webhook?
    package var events: [OneEvent] = []
    /// Plugins' calls to their sources' systems.
    var calls: [OfflineServices.Call] = []
    /// Missing variables and files that were replaced.
    var standIns: [String] = []
    /// Warnings and errors that plugins logged, and rules they broke.
    var notes: [String] = []

    /// All pushes with their routes.
    package var pushes: [(route: String, push: Push)] {
        events.flatMap { event in
            event.routes.flatMap { route in route.pushes.map { (route.name, $0) } }
        }
    }

    package var sendsAnything: Bool { pushes.contains(where: \.push.isSent) }
}
