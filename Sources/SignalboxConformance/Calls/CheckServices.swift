internal import Signalbox
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// Host services for an examination.
///
/// Signatures are real, values and devices are in memory, REST answers come from samples, and
/// the clock can be moved.
final class CheckServices: HostServices {
    private struct State {
        var shiftMs: UInt64 = 0
        var heldUnixMs: UInt64?
        var values: [String: [UInt8]] = [:]
        var devices: [Device] = []
        var lines: [String] = []
        var calls: [String] = []
    }

    private let state = Mutex(State())
    private let answers: [CheckSamples.Answer]
    private let keys = KeyRing()
    private let workers = WorkerThreads(count: 2, waitingMax: .max)
    private let alarms = AlarmClock()

    init(answers: [CheckSamples.Answer]) { self.answers = answers }

    /// Moves the clock forward.
    func advance(ms: UInt64) { state.withLock { $0.shiftMs += ms } }

    /// Stops the clock while the body runs, so that what plugins make of the time can be compared.
    func holdingClock<Result>(_ body: () -> Result) -> Result {
        let now = nowUnixMs
        state.withLock { $0.heldUnixMs = now }
        defer { state.withLock { $0.heldUnixMs = nil } }
        return body()
    }

    /// The log lines since the last call.
    func takeLines() -> [String] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    /// The REST calls so far: method and URL.
    var calls: [String] { state.withLock { $0.calls } }

    var nowUnixMs: UInt64 {
        let now = SystemClock.unixMs
        return state.withLock { $0.heldUnixMs ?? (now + $0.shiftMs) }
    }

    func isLogged(_ level: PluginLogLevel) -> Bool { true }

    func log(instance: String, level: PluginLogLevel, message: String, fields: [Attribute]) {
        let parts = fields.map { "\($0.key)=\($0.value)" }
        let line = ([message] + parts).joined(separator: " ")
        state.withLock { state in
            if state.lines.count < 10_000 { state.lines.append(line) }
        }
    }

    func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)? { NoMetric() }

    func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8] { try keys.sign(algorithm, key: key, data: data) }

    func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        try keys.verify(algorithm, key: key, data: data, signature: signature)
    }

    func call(
        _ call: PluginHTTPCall,
        done: @escaping @Sendable (Result<PluginHTTPAnswer, PluginFault>) -> Void
    ) throws(PluginFault) {
        state.withLock { state in
            if state.calls.count < 1_000 { state.calls.append("\(call.method) \(call.url)") }
        }
        let answer = answers.first { call.url.hasPrefix($0.url) } ?? .fallback
        workers.submitBounded {
            done(
                .success(
                    PluginHTTPAnswer(
                        status: answer.status, headers: answer.headers, body: answer.body)))
        }
    }

    func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, PluginFault>) -> Void
    ) throws(PluginFault) {
        let found = state.withLock { $0.values["\(instance) \(key)"] }
        workers.submitBounded { done(.success(found)) }
    }

    func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        state.withLock { $0.values["\(instance) \(key)"] = value }
        workers.submitBounded { done(nil) }
    }

    func devices(
        app: String, user: String,
        done: @escaping @Sendable (Result<[Device], PluginFault>) -> Void
    ) throws(PluginFault) {
        let found = state.withLock { state in
            state.devices.filter { $0.user == user && (app.isEmpty || $0.app == app) }
        }
        workers.submitBounded { done(.success(found)) }
    }

    func device(
        app: String, token: String,
        done: @escaping @Sendable (Result<Device?, PluginFault>) -> Void
    ) throws(PluginFault) {
        let found = state.withLock { state in
            state.devices.first { $0.token == token && (app.isEmpty || $0.app == app) }
        }
        workers.submitBounded { done(.success(found)) }
    }

    func change(
        instance: String, _ change: DeviceChange,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        state.withLock { state in
            state.devices.removeAll { $0.token == change.device.token }
            if change.kind == .registered, state.devices.count < 10_000 {
                state.devices.append(change.device)
            }
        }
        workers.submitBounded { done(nil) }
    }

    func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        TimeZones.offset(zone: zone, unixMs: unixMs)
    }

    func certificate(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> PluginCertificate {
        try KeyRing.certificate(bytes, password: password)
    }

    func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8]) {
        try KeyRing.identity(bytes, password: password)
    }

    func onWorker(_ work: @escaping @Sendable () -> Void) { workers.submitBounded(work) }

    func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void) {
        let workers = workers
        alarms.after(ms: ms) { workers.submitBounded(work) }
    }

    func readFile(_ path: String) -> [UInt8]? { nil }

    // The probes around the host notice the same with more detail.
    func shortened(instance: String, field: String) {}

    func misbehaved(instance: String, _ what: String) {}
}

private struct NoMetric: PluginMetric {
    func add(_ delta: Int64) {}
    func set(_ value: Int64) {}
}
