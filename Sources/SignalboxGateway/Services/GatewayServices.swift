internal import Logging
package import SignalboxConfig
package import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxHTTP
internal import SignalboxObservability
package import SignalboxPluginHost
internal import SignalboxThreads

/// The gateway's services for one plugin instance.
package final class GatewayServices: HostServices {
    /// Services that are available only in a running gateway.
    package struct Running {
        let store: any GatewayStore
        let current: CurrentGeneration
        let pipeline: EventPipeline
    }

    private let runtime: GatewayRuntime
    private let running: Running?
    private let plugin: CheckedPlugin
    private let keys = KeyRing()
    /// The environment the configuration was read from: a demo has other files under the same names.
    private let environment: ConfigEnvironment

    /// `running` is nil if a configuration is only checked.
    package init(
        _ runtime: GatewayRuntime, _ environment: ConfigEnvironment, for plugin: CheckedPlugin,
        running: Running? = nil
    ) {
        self.environment = environment
        self.runtime = runtime
        self.plugin = plugin
        self.running = running
    }

    private var logger: Logger { runtime.logger }
    private var metrics: GatewayMetrics { runtime.metrics }

    package var hasSystemClock: Bool { runtime.hasSystemClock }
    package var nowUnixMs: UInt64 { runtime.clock() }

    package func isLogged(_ level: PluginLogLevel) -> Bool { logger.logLevel <= Self.level(level) }

    package func log(instance: String, level: PluginLogLevel, message: String, fields: [Attribute])
    {
        var metadata: Logger.Metadata = [:]
        for field in fields { metadata[Self.key(of: field)] = "\(field.value)" }
        metadata["plugin.instance"] = "\(instance)"
        logger.log(level: Self.level(level), "\(message)", metadata: metadata)
    }

    /// Protects the instance and the time of a line from being overridden by a plugin.
    private static func key(of field: Attribute) -> String {
        switch field.key {
        case "plugin.instance", "gateway.name", "time", "level", "logger", "message":
            "plugin.said.\(field.key)"
        default: field.key
        }
    }

    package func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)? {
        let all = [("instance", instance)] + labels.map { ($0.key, $0.value) }
        let full = "signalbox_plugin_\(name)"
        return metrics.plugins.metric(full, all, isGauge: isGauge).map { ServiceMetric(metric: $0) }
    }

    package func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8] { try keys.sign(algorithm, key: key, data: data) }

    package func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        try keys.verify(algorithm, key: key, data: data, signature: signature)
    }

    package func publicKey(_ form: PublicKeyForm, key: [UInt8]) throws(PluginFault) -> [UInt8] {
        try keys.publicKey(form, key: key)
    }

    package func call(
        _ call: PluginHTTPCall, done: @escaping HostAnswer<PluginHTTPAnswer>
    ) throws(PluginFault) {
        guard running != nil else {
            throw PluginFault(.again, "nothing is sent, the configuration is only checked")
        }
        var made = RESTCall(
            method: call.method, url: call.url, headers: call.headers, body: call.body)
        made.caFile = call.caFile.isEmpty ? nil : call.caFile
        if call.timeoutMs > 0 { made.timeoutMs = call.timeoutMs }
        made.redirectsMax = call.redirectsMax
        made.refusesPrivateAddresses = call.refusesPrivateAddresses
        made.owner = plugin.name
        made.proxies = plugin.proxies
        do throws(RESTFault) {
            try runtime.rest.submit(made) { result in
                done(
                    result.map {
                        PluginHTTPAnswer(status: $0.status, headers: $0.headers, body: $0.body)
                    }.mapError(Self.fault))
            }
        } catch {
            throw Self.fault(error)
        }
    }

    private func openStore() throws(PluginFault) -> any GatewayStore {
        guard let running else {
            throw PluginFault(.again, "the store is not open, the configuration is only checked")
        }
        return running.store
    }

    package func value(
        instance: String, key: String, done: @escaping HostAnswer<[UInt8]?>
    ) throws(PluginFault) {
        try openStore().value(instance: instance, key: key) { result in
            done(result.mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        try openStore().set(
            instance: instance, key: key, value: value,
            // An isolated plugin may pass any time.
            forMs: expiresUnixMs.map { min($0 - min($0, nowUnixMs), KVService.lifeMsMax) }
        ) { result in
            switch result {
            case .success: done(nil)
            case .failure(let fault): done(PluginFault(.unreachable, fault.message))
            }
        }
    }

    package func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping HostAnswer<[String]>
    ) throws(PluginFault) {
        try openStore().keys(instance: instance, prefix: prefix, after: after, limit: limit) {
            done($0.mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping HostAnswer<KeyValueEdited>
    ) throws(PluginFault) {
        try openStore().edit(instance: instance, key: key, edit) {
            done($0.mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func devices(
        app: String, user: String, done: @escaping HostAnswer<[Device]>
    ) throws(PluginFault) {
        let key = UserKey(app: app, user: user)
        try openStore().devices(of: [key]) { found in
            done(
                found.map { $0[0].map(\.deviceWithPresence) }
                    .mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func device(
        app: String, token: String, done: @escaping HostAnswer<Device?>
    ) throws(PluginFault) {
        // A phone asks, and its token may equal somebody's address at another sender.
        let tokens = running?.current.generation.devices.tokens
        try openStore().find(app: app, token: token) { result in
            done(
                result.map { found in
                    let device = found.first { tokens?.isAddress($0.device) == false }
                    return (device ?? found.first)?.deviceWithPresence
                }
                .mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func change(
        instance: String, _ change: DeviceChange, done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        // Before the first generation nobody could be told of the change.
        guard let running, !running.current.generation.instances.instances.isEmpty else {
            throw PluginFault(.again, "the gateway is not up yet")
        }
        let now = nowUnixMs
        runtime.workers.submitBounded {
            running.pipeline.accept([], changes: [change], from: instance, receivedUnixMs: now) {
                answer, _ in
                switch answer {
                case .committed: done(nil)
                case .full, .diskFull, .unavailable: done(PluginFault(.again, answer.words))
                case .tooLarge(let words): done(PluginFault(.tooLarge, words))
                case .unprocessable(let words): done(PluginFault(.invalid, words))
                case .failed(let words): done(PluginFault(.unreachable, words))
                }
            }
        }
    }

    package func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        TimeZones.offset(zone: zone, unixMs: unixMs)
    }

    package func certificate(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> PluginCertificate {
        try KeyRing.certificate(bytes, password: password)
    }

    package func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8]) {
        try KeyRing.identity(bytes, password: password)
    }

    package func onWorker(_ work: @escaping @Sendable () -> Void) {
        runtime.workers.submitBounded(work)
    }

    package func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void) {
        let workers = runtime.workers
        runtime.alarms.after(ms: ms) { workers.submitBounded(work) }
    }

    package func readFile(_ path: String) -> [UInt8]? { try? environment.readFile(path).get() }

    package func shortened(instance: String, field: String) {
        metrics.shortened[instance, field].add()
    }

    package func misbehaved(instance: String, _ what: String) {
        metrics.pluginFaults[instance].add()
        logger.error(
            "plugin violated the contract",
            metadata: ["plugin.instance": "\(instance)", "error": "\(what)"])
    }

    private static func fault(_ fault: RESTFault) -> PluginFault {
        let kind: PluginFault.Kind =
            switch fault.kind {
            case .invalid: .invalid
            case .unreachable, .privateAddress: .unreachable
            case .timeout: .timeout
            case .lost: .lost
            case .tooLarge: .tooLarge
            case .full: .again
            case .stopping: .stopping
            }
        return PluginFault(kind, fault.message)
    }

    private static func level(_ level: PluginLogLevel) -> Logger.Level {
        switch level {
        case .trace: .trace
        case .debug: .debug
        case .info: .info
        case .warn: .warning
        case .error: .error
        }
    }
}

private struct ServiceMetric: PluginMetric {
    let metric: Metric
    func add(_ delta: Int64) { metric.add(delta) }
    func set(_ value: Int64) { metric.set(value) }
}
