public import CSignalbox
import SignalboxPluginKit
import Synchronization

/// The Apple Push Notification service over HTTP/2.
final class APNs: SendHTTPPlugin, IngestPlugin {
    static let info = PluginInfo(
        id: "io.signalbox.apns", version: "1.0.0",
        summary: "Apple Push Notification service: all push types, token or certificate auth",
        configSchema: Config.schema)

    private let host: Host
    private let config: Config
    private struct Known {
        /// Apps with an accepted push: their environment is known to be right.
        var proven: Set<String> = []
        /// Consecutive 5xx, by app.
        var failuresInRow: [String: Int] = [:]
    }
    private let known = Mutex(Known())

    init(host: Host, config: JSON) throws(PluginError) {
        self.host = host
        self.config = try Config(Keys(config), host: host)
        // Fails at startup if the key cannot sign, which is a configuration error.
        for account in self.config.accounts where account.usesToken {
            _ = try account.token(host)
        }
    }

    func start() throws(PluginError) {
        for account in config.accounts {
            if account.usesToken { try define(account) } else { try observe(account) }
        }
    }

    private func define(_ account: Account) throws(PluginError) {
        if account.keys.teamID.utf8.count != 10 || account.keys.keyID.utf8.count != 10 {
            host.write(.warn, "team_id or key_id does not have Apple's 10 characters")
        }
        let host = host
        // Apple refuses tokens older than 60 minutes and more than one new token in 20.
        try host.defineCredential(account.providerToken, minIntervalMs: 20 * 60_000) {
            () throws(PluginError) in
            let now = host.nowUnixMs
            return Credential(
                value: try account.token(host), refreshUnixMs: now + 50 * 60_000,
                expiresUnixMs: now + 59 * 60_000)
        }
    }

    /// Exports the certificate's expiry, now and whenever its file changes.
    private func observe(_ account: Account) throws(PluginError) {
        let host = host
        let gauge = host.gauge("certificate_expires_unix_seconds", [("topic", account.topic)])
        let look: @Sendable () -> Void = {
            guard let found = try? account.certificate(host) else { return }
            gauge.set(found.notAfterUnixS)
            let daysLeft = (found.notAfterUnixS - Int64(host.nowUnixMs / 1000)) / 86_400
            if daysLeft < 30 {
                host.write(
                    daysLeft < 0 ? .error : .warn,
                    daysLeft < 0 ? "the certificate has expired" : "the certificate expires soon",
                    [("topic", account.topic), ("days_left", String(daysLeft))])
            }
        }
        look()
        host.watch(account.keys.certificate, look)
    }

    var paths: [IngestPath] { config.channels?.paths ?? [] }

    func handle(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        try config.channels?.handle(request, sink, config: config, host: host)
    }

    func endpoint(app: String) throws(PluginError) -> Endpoint {
        guard let account = config.account(for: app) else {
            throw PluginError(.notFound, "\"\(app)\" is neither topic nor one of topics")
        }
        return account.endpoint(config)
    }

    func prepare(_ batch: borrowing DeliveryBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        guard let account = config.account(for: batch.app) else {
            throw PluginError(.notFound, "there is no such app")
        }
        let authorization =
            account.usesToken ? "bearer " + (try host.credential(account.providerToken)) : ""
        let topic = batch.app.isEmpty ? account.topic : batch.app
        var encoder = Encoder(
            config: config, account: account, topic: topic, authorization: authorization,
            host: host)
        try sink.send(batch, by: &encoder)
    }

    func classify(_ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        guard batch.count > 0 else { return }
        // All responses of a batch are for the same app.
        let app = batch[0].app
        var (isProven, failuresInRow) = known.withLock { known in
            (known.proven.contains(app), known.failuresInRow[app] ?? 0)
        }
        let before = (isProven, failuresInRow)
        var delivered = Outcome(.delivered, "ok")
        delivered.providerCode = 200
        for index in 0..<batch.count {
            let response = batch[index]
            if response.status == 200 {
                delivered.providerID =
                    response.header("apns-id") ?? response.header("apns-request-id") ?? ""
                try sink.settle(response, delivered)
                isProven = true
                failuresInRow = 0
                continue
            }
            failuresInRow = response.status >= 500 ? failuresInRow + 1 : 0
            let answer = try? host.parse(response.body)
            let outcome = Reasons.outcome(
                status: response.status, reason: answer?["reason"]?.string ?? "",
                timestampMs: answer?["timestamp"]?.integer,
                credential: config.account(for: app)?.providerToken ?? "",
                isProven: isProven, failuresInRow: failuresInRow)
            try sink.settle(response.items, outcome)
        }
        guard before != (isProven, failuresInRow) else { return }
        known.withLock { known in
            if isProven { known.proven.insert(app) }
            known.failuresInRow[app] = failuresInRow > 0 ? failuresInRow : nil
        }
    }
}

/// The library's entry point.
@c @implementation
public func sbx_plugin_entry_v1(
    _ host: UnsafePointer<sbx_host>?, _ error: UnsafeMutablePointer<sbx_error>?
) -> UnsafePointer<sbx_plugin>? { unsafe pluginEntry(APNs.self) }
