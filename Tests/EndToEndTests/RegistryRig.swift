import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

/// A clock that stands still until a test moves it forward.
final class StillClock: Sendable {
    private let time = Mutex(UInt64(Date().timeIntervalSince1970 * 1000))

    var now: UInt64 { time.withLock { $0 } }

    func advance(ms: UInt64) { time.withLock { $0 += ms } }
}

/// A gateway with a device registry; its events name users.
struct RegistryRig {
    static let app = "com.example.app"
    let rig: GatewayRig

    /// `set` is the route's `build.set`; `gateway` goes into the section of that name.
    init(
        set: String = "{}", gateway: String = "", plugins: String = "", senders: String = "",
        drain: String = "5s",
        clock: (@Sendable () -> UInt64)? = nil,
        change: (inout GatewayOptions) -> Void = { _ in }
    ) async throws {
        rig = try await GatewayRig(
            clock: clock, change: change,
            config: { simulators in
                GatewayRig.plugins(simulators).replacingOccurrences(
                    of: "  z: { library: Zendesk, config: { path: /in/z } }",
                    with: plugins + "  texts: { library: Texts }"
                ).replacingOccurrences(
                    of: "drain: 5s", with: "drain: \(drain), sources: [program]\(gateway)")
                        + """

                        devices:
                          clients:
                            - name: backend
                              token: token-of-backend-1
                              app: \(Self.app)
                              scopes: [read, write, presence, badge]
                        routes:
                          - name: hello
                            from: program
                            build: { with: texts, set: \(set) }
                            send: { ios: apns, android: fcm\(senders) }
                        """
            })
    }

    func call(
        _ method: String, _ path: String, _ body: String = ""
    ) async throws -> (status: UInt32, json: JSONValue) {
        let answer = try await DeviceTests.call(rig, method, path, body)
        return (answer.status, answer.json)
    }

    func register(_ user: String, _ token: String, platform: String = "ios") async throws {
        _ = try await DeviceTests.register(rig, user, token, platform: platform)
    }

    /// Sends one event for a user, or one for each of several.
    @discardableResult
    func notify(
        _ users: [String], type: String = "hello", dedupe: String = "",
        attributes: [Attribute] = []
    ) async throws -> [SubmittedEvent] {
        let recipients = users.map {
            Recipient(device: Device(app: Self.app, user: $0), attributes: attributes)
        }
        let event = Event(
            type: type, dedupe: dedupe, data: #"{"title":"Hello"}"#, recipients: recipients)
        return try await rig.gateway.submit([event], from: "program")
    }

    /// The `aps` of the pushes that APNs' simulator accepted, by token; waits for `count` of them.
    func taken(_ count: Int) async -> [(token: String, aps: JSONValue)] {
        _ = await rig.delivered(rig.simulators.apns, count)
        return rig.simulators.apns.received.filter { $0.status == 200 }.map {
            ($0.token, $0.body["aps"] ?? .null)
        }
    }
}
