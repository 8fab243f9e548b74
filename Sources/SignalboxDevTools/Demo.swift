internal import Logging
public import Signalbox
internal import SignalboxCore
internal import SignalboxHTTP
public import SignalboxSimulators
internal import SignalboxThreads

/// Sends one webhook through a gateway and simulators, all in this process.
public final class Demo: Sendable {
    /// The result of the demo.
    public struct Report: Sendable {
        /// The gateway's answer to the webhook.
        public let status: Int
        /// The time until that answer, in milliseconds.
        public let answeredMs: Double
        /// The pushes received, each with its time since the webhook was sent, in milliseconds.
        public let arrivals: [(push: ReceivedPush, afterMs: Double)]
    }

    /// The simulators.
    public let simulators: Simulators
    /// The gateway.
    public let gateway: Gateway

    /// Starts simulators, and a gateway with the given configuration that talks to them.
    public static func start(
        _ options: GatewayOptions, controlPort: Int = 0
    ) async throws -> Demo {
        var simulated = SimulatorsOptions()
        simulated.controlPort = controlPort
        let simulators = try await Simulators.start(simulated)
        do {
            var options = options
            var variables = simulators.variables
            variables["ZENDESK_PATH_SECRET"] = "demo"
            // People who try the demo send the same sample again and again.
            variables["ZENDESK_DEDUPE"] = "0s"
            options.dataFolder = simulators.files.data
            options.overlay(
                variables: variables,
                files: [
                    "secrets/apns.p8": simulators.files.apnsKey,
                    "secrets/fcm.json": simulators.files.serviceAccount,
                ])
            return Demo(simulators: simulators, gateway: try await Gateway.start(options))
        } catch {
            await simulators.shutdown()
            throw error
        }
    }

    private init(simulators: Simulators, gateway: Gateway) {
        self.simulators = simulators
        self.gateway = gateway
    }

    /// Sends a webhook and waits until each simulator has received a push, or ten seconds.
    public func send(_ body: [UInt8]) async throws -> Report {
        let client = try RESTClient(callsMax: 4)
        defer { client.shutdown() }
        var call = RESTCall(
            method: "POST", url: "http://127.0.0.1:\(gateway.port)/in/zendesk/demo",
            headers: [Attribute("content-type", "application/json")], body: body)
        call.timeoutMs = 10_000
        let (apnsBefore, fcmBefore) = (
            simulators.apns.received.count, simulators.fcm.received.count
        )
        let startUnixMs = SystemClock.unixMs
        let start = SystemClock.monotonicNs
        let answer = try await client.answer(call)
        let answeredMs = Double(SystemClock.monotonicNs - start) / 1_000_000
        async let apns = simulators.apns.wait(for: apnsBefore + 1, timeoutMs: 10_000)
        async let fcm = simulators.fcm.wait(for: fcmBefore + 1, timeoutMs: 10_000)
        let arrived = await Array(apns.dropFirst(apnsBefore)) + fcm.dropFirst(fcmBefore)
        return Report(
            status: Int(answer.status), answeredMs: answeredMs,
            arrivals: arrived.map {
                ($0, $0.unixMs > startUnixMs ? Double($0.unixMs - startUnixMs) : 0)
            })
    }

    /// Calls `onPush` for each further push that a simulator receives, until the task is cancelled.
    public func follow(_ onPush: @escaping @Sendable (ReceivedPush) -> Void) async {
        await withTaskGroup { group in
            for simulator in simulators.all {
                group.addTask {
                    var seen = simulator.received.count
                    while !Task.isCancelled {
                        let all = await simulator.wait(for: seen + 1, timeoutMs: 10_000)
                        for push in all.dropFirst(seen) { onPush(push) }
                        // Fewer: somebody has told the simulator to forget.
                        seen = all.count
                    }
                }
            }
        }
    }

    /// Stops the gateway, then the simulators.
    public func stop() async {
        await gateway.stop()
        await simulators.shutdown()
    }
}

extension Demo.Report {
    /// Whether both providers accepted a push.
    public var isConfirmed: Bool {
        Set(arrivals.filter { $0.push.status == 200 }.map(\.push.provider)) == ["apns", "fcm"]
    }

    /// The result as text for people.
    public var lines: [String] {
        ["webhook     answered \(status) after \(Self.text(answeredMs)) ms"]
            + arrivals.flatMap { push, afterMs in
                Self.lines(of: push, after: " after \(Self.text(afterMs)) ms")
            }
    }

    /// A push, or another request to a provider, as text for people.
    public static func lines(of push: ReceivedPush, after: String = "") -> [String] {
        let names = ["apns": "APNs", "fcm": "FCM"]
        let name = (names[push.provider] ?? push.provider).padded(to: 10)
        var answer = "\(push.status) \(push.reason)"
        if push.reason.isEmpty { answer.removeLast() }
        return ["\(name)  received\(after), answered \(answer)", "            \(push.path)"]
            + push.headers.filter { $0.key.hasPrefix("apns-") }.map {
                "            \($0.key): \($0.value)"
            } + ["            \(push.body.text)"]
    }

    private static func text(_ ms: Double) -> String { "\((ms * 10).rounded() / 10)" }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
}
