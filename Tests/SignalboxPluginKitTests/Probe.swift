import CSignalbox
import SignalboxPluginKit
import Synchronization

/// A plugin that is linked into the tests and does only what they check.
final class Probe: SendHTTPPlugin, BuildPlugin {
    static let info = PluginInfo(
        id: "org.example.probe", version: "1", summary: "asks the host", needsMinor: 1,
        needs: [SBX_SVC_SIGN], isSerial: true)

    static let entry: sbx_entry_fn = { _, _ in pluginEntry(Probe.self) }

    /// Hosts by the names of their instances, so that a test can call one.
    static let hosts = Mutex<[String: Host]>([:])

    init(host: Host, config: JSON) throws(PluginError) {
        Self.hosts.withLock { $0[host.instanceName] = host }
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        var endpoint = Endpoint(origin: "https://example.org")
        endpoint.requestTimeoutMs = 1
        endpoint.connectTimeoutMs = 2
        endpoint.pingIdleMs = 3
        endpoint.pingTimeoutMs = 4
        endpoint.connectionsMax = 5
        endpoint.streamsMax = 6
        return endpoint
    }

    /// Answers with the fields of the device that a sender reads.
    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<batch.count {
            let device = batch[index].device()
            var outcome = Outcome(.delivered, "token_replaced")
            outcome.newToken = "new-\(device.token)"
            outcome.detail = "\(device.user) \(device.locale) \(device.attribute("muted") ?? "")"
            try sink.settle([batch[index].id], outcome)
        }
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {}

    /// Builds a text from the fields of the event that a builder reads.
    func build(_ input: borrowing BuildInput, _ sink: borrowing BuildSink) throws(PluginError) {
        var note = PushNotification()
        note.body = "\(input.instance) \(input.timeUnixMs) \(input.dedupe)"
        try sink.emit(note, to: [.init(0)])
    }
}
