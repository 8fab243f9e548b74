import Glibc
import Signalbox
import SignalboxConformance
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import SignalboxThreads

/// Measures plugin calls, in this process or in the plugin's own.
///
/// The APNs plugin turns deliveries into requests and answers into outcomes.
enum CallBench {
    /// Nanoseconds per delivery for one batch size.
    struct Cost: Sendable {
        /// Deliveries per call.
        let batch: Int
        /// `prepare` and `classify` together.
        let ns: Double
    }

    /// Measures batches of these sizes.
    ///
    /// Returns for each size the median of five runs of about `deliveries` deliveries.
    static func run(
        _ options: GatewayOptions, batches: [Int], deliveries: Int, isIsolated: Bool
    ) async throws -> [Cost] {
        let path = try options.searchPath.resolve("APNs", relativeTo: ".")
        let instance = try await instance(path, isIsolated ? options.isolation : nil)
        try await instance.start()
        guard let role = try await instance.roles(limits: Limits()).sendHTTP else {
            throw BenchFault(description: "\(path) does not send over HTTP")
        }
        let costs = try batches.map { batch in
            let calls = max(1, deliveries / batch)
            let times = try (0..<5).map { _ in
                try time(role, batch: batch, calls: calls) / Double(calls * batch)
            }
            return Cost(batch: batch, ns: times.sorted()[2])
        }
        _ = await instance.stop(deadlineMs: 5_000)
        return costs
    }

    /// An ordinary notification.
    static let content: SharedNotification = {
        var note = PushNotification()
        note.title = "Ada replied"
        note.body = "Your parcel is on its way and will be with you tomorrow."
        note.thread = "ticket-5"
        return SharedNotification(note, receivedUnixMs: 0)
    }()

    private static func instance(
        _ path: String, _ isolation: IsolationOptions?
    ) async throws -> any HostedInstance {
        let config: JSONValue = [
            "team_id": "ABCDE12345", "key_id": "FGHIJ67890", "key": "key",
            "topic": "com.example.app",
        ]
        let key = try ThrowAway.p256Key().privateKeyPEM()
        let checked = CheckedConfig(json: config, secrets: ["key": PluginSecret(bytes: key)])
        let services = MeasuredServices.make()
        let library = try PluginLibrary.load(path)
        guard let isolation else {
            return try await PluginInstance.create(
                name: "bench", library: library, config: checked, version: "bench",
                services: services)
        }
        return try await IsolatedInstance.create(
            name: "bench", library: library.descriptor, config: checked, version: "bench",
            options: isolation, services: services)
    }

    /// The nanoseconds that so many calls take.
    private static func time(
        _ role: any Translating, batch: Int, calls: Int
    ) throws -> Double {
        let deliveries = (0..<batch).map { index in
            Delivery(
                id: UInt64(index + 1), eventID: 1, route: "r", sender: "apns",
                stableID: "0e7f8e1c-6f1f-4e0e-9d55-0123456789ab", attempt: 1,
                deadlineUnixMs: SystemClock.unixMs + 86_400_000, content: content,
                device: Device(
                    app: "", platform: "ios",
                    token: String(repeating: "0123456789abcdef", count: 4)))
        }
        let answers = (0..<batch).map { HTTPResponse(status: 200, items: [UInt64($0 + 1)]) }
        // The plugin's credential is made on another thread; polling for it would be measured too.
        while case .again = role.prepare(app: "", deliveries: deliveries) { usleep(2_000) }
        let start = SystemClock.monotonicNs
        for _ in 0..<calls {
            guard case .ready(let requests, _) = role.prepare(app: "", deliveries: deliveries),
                requests.items.count == batch,
                role.classify(app: "", responses: answers).settled.count == batch
            else { throw BenchFault(description: "the plugin did not take a batch of \(batch)") }
        }
        return Double(SystemClock.monotonicNs - start)
    }
}
