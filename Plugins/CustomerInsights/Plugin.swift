public import CSignalbox
import SignalboxPluginKit

/// Dynamics 365 Customer Insights - Journeys: its device registration API, as the server and as a client.
final class CustomerInsights: IngestPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.customer-insights", version: "1.0.0",
        summary:
            "Customer Insights - Journeys: device registration as server and client, its payloads",
        configSchema: Config.schema)

    let host: Host
    let config: Config
    let counters: Counters
    let state = ClientState()
    let dryRuns: DryRuns
    let cleanups: Cleanups

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config))
        counters = Counters(host)
        cleanups = Cleanups(host: host)
        dryRuns = DryRuns(nowUnixMs: { host.nowUnixMs })
    }

    var paths: [IngestPath] {
        let own = config.server.map { serverPaths($0) } ?? []
        let callback = config.client?.callbackPath ?? ""
        return (own + (callback.isEmpty ? [] : ["\(callback)/{nonce}"])).map { IngestPath($0) }
    }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        if let callback = config.client?.callbackPath, !callback.isEmpty,
            request.pattern == "\(callback)/{nonce}"
        {
            try self.callback(request, sink)
        } else if let server = config.server {
            try serve(server, request, sink)
        }
    }
}

/// The instance's metrics.
struct Counters: Sendable {
    let unauthorized: Counter
    let interactions: Counter
    let outcomes: [String: Counter]
    let callbacks: [String: Counter]

    init(_ host: Host) {
        unauthorized = host.counter("wrong_api_tokens_total")
        interactions = host.counter("interactions_total")
        outcomes = Dictionary(
            uniqueKeysWithValues: (["Success"] + FailureReason.allCases.map(\.rawValue)).map {
                ($0, host.counter("registrations_total", [("result", $0)]))
            })
        callbacks = Dictionary(
            uniqueKeysWithValues: ["sent", "refused", "failed"].map {
                ($0, host.counter("callbacks_total", [("result", $0)]))
            })
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(CustomerInsights.self) }
