package import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxGateway
package import SignalboxPluginHost
internal import SignalboxThreads
internal import Synchronization

/// The answer to plugins' calls to URLs that begin with `url`.
package struct OfflineAnswer: Sendable {
    package var url: String
    package var status: UInt32
    package var headers: [Attribute]
    package var body: [UInt8]

    /// A valid answer of a token endpoint; other calls usually ignore it.
    package static let fallback = OfflineAnswer(
        url: "", status: 200, headers: [Attribute("content-type", "application/json")],
        body: Array(
            #"{"access_token":"made-up-access-token","token_type":"Bearer","expires_in":3600}"#
                .utf8))

    /// Reads `url`, `status`, `headers` and `body`: a text is sent as it is, anything else as JSON.
    package init(_ json: JSONValue) {
        url = json["url"]?.string ?? ""
        status = UInt32(clamping: json["status"]?.integer ?? 200)
        headers = []
        if case .object(let members) = json["headers"] {
            headers = members.map {
                Attribute($0.key.lowercased(), $0.value.string ?? $0.value.text)
            }
        }
        body = (json["body"].map { Array(($0.string ?? $0.text).utf8) }) ?? []
    }

    private init(url: String, status: UInt32, headers: [Attribute], body: [UInt8]) {
        self.url = url
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Host services without network and store, for checking or inspecting plugins.
///
/// Signatures are real, values and devices are in memory, calls get prepared answers, and the clock can be moved.
package final class OfflineServices: HostServices {
    /// A log line of a plugin.
    package struct Line: Sendable {
        package var instance: String
        package var level: PluginLogLevel
        package var text: String
    }

    /// A call that a plugin made.
    package struct Call: Sendable {
        /// Method and URL without its query.
        package var text: String
        /// The status of the answer.
        package var status: UInt32
        /// Whether a prepared answer was used, not the fallback.
        package var isGiven: Bool
    }

    private struct State {
        var shiftMs: UInt64 = 0
        var heldUnixMs: UInt64?
        var values: [String: [UInt8]] = [:]
        var devices: [Device] = []
        var lines: [Line] = []
        var calls: [Call] = []
        var shortened: [String] = []
        var misdeeds: [String] = []
    }

    private let state: Mutex<State>
    private let answers: [OfflineAnswer]
    private let isTrusting: Bool
    private let registry: (any DeviceRegistry)?
    private let keys = KeyRing()
    private let workers = WorkerThreads(count: 2, waitingMax: .max)
    private let alarms = AlarmClock()

    /// `heldUnixMs` stops the clock. With `isTrusting`, every signature is valid, and an unusable key yields a
    /// signature or public key of zeros. `registry` is only read, for devices that are not in `devices`.
    package init(
        answers: [OfflineAnswer], heldUnixMs: UInt64? = nil, isTrusting: Bool = false,
        devices: [Device] = [], registry: (any DeviceRegistry)? = nil
    ) {
        self.answers = answers
        self.isTrusting = isTrusting
        self.registry = registry
        var first = State()
        first.heldUnixMs = heldUnixMs
        first.devices = devices
        state = Mutex(first)
    }

    /// Stops the threads.
    package func end() {
        alarms.stop()
        workers.stop()
    }

    /// Moves the clock forward.
    package func advance(ms: UInt64) { state.withLock { $0.shiftMs += ms } }

    /// Stops the clock while the body runs, so that plugins' time-dependent results can be compared.
    package func holdingClock<Result>(_ body: () -> Result) -> Result {
        let now = SystemClock.unixMs
        let before = state.withLock { state in
            defer { state.heldUnixMs = state.heldUnixMs ?? now }
            return state.heldUnixMs
        }
        defer { state.withLock { $0.heldUnixMs = before } }
        return body()
    }

    /// The log lines since the last call.
    package func takeLines() -> [Line] {
        state.withLock { state in
            defer { state.lines = [] }
            return state.lines
        }
    }

    /// The fields shortened since the last call.
    package func takeShortened() -> [String] {
        state.withLock { state in
            defer { state.shortened = [] }
            return state.shortened
        }
    }

    /// The rules that plugins have broken.
    package var misdeeds: [String] { state.withLock { $0.misdeeds } }

    /// The calls so far.
    package var calls: [Call] { state.withLock { $0.calls } }

    package var nowUnixMs: UInt64 {
        let now = SystemClock.unixMs
        return state.withLock { ($0.heldUnixMs ?? now) + $0.shiftMs }
    }

    package var hasSystemClock: Bool { state.withLock { $0.heldUnixMs == nil } }

    package func isLogged(_ level: PluginLogLevel) -> Bool { true }

    package func log(
        instance: String, level: PluginLogLevel, message: String, fields: [Attribute]
    ) {
        let parts = fields.map { "\($0.key)=\($0.value)" }
        let line = Line(
            instance: instance, level: level, text: ([message] + parts).joined(separator: " "))
        state.withLock { state in
            if state.lines.count < 10_000 { state.lines.append(line) }
        }
    }

    package func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)? { NoMetric() }

    package func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        do throws(PluginFault) {
            return try keys.sign(algorithm, key: key, data: data)
        } catch {
            guard isTrusting else { throw error }
            return [UInt8](repeating: 0, count: 64)
        }
    }

    package func publicKey(
        _ form: PublicKeyForm, key: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        do throws(PluginFault) {
            return try keys.publicKey(form, key: key)
        } catch {
            guard isTrusting else { throw error }
            return [4] + [UInt8](repeating: 0, count: 64)
        }
    }

    package func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        if isTrusting { return true }
        return try keys.verify(algorithm, key: key, data: data, signature: signature)
    }

    package func call(
        _ call: PluginHTTPCall, done: @escaping HostAnswer<PluginHTTPAnswer>
    ) throws(PluginFault) {
        let given = answers.first { call.url.hasPrefix($0.url) }
        let answer = given ?? .fallback
        let url = call.url.prefix { $0 != "?" }
        state.withLock { state in
            guard state.calls.count < 1_000 else { return }
            state.calls.append(
                Call(
                    text: "\(call.method) \(url)", status: answer.status, isGiven: given != nil))
        }
        workers.submitBounded {
            done(
                .success(
                    PluginHTTPAnswer(
                        status: answer.status, headers: answer.headers, body: answer.body)))
        }
    }

    package func value(
        instance: String, key: String, done: @escaping HostAnswer<[UInt8]?>
    ) throws(PluginFault) {
        let found = state.withLock { $0.values["\(instance) \(key)"] }
        workers.submitBounded { done(.success(found)) }
    }

    package func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        state.withLock { $0.values["\(instance) \(key)"] = value }
        workers.submitBounded { done(nil) }
    }

    /// Devices in memory for which `isWanted` holds.
    package func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping HostAnswer<[String]>
    ) throws(PluginFault) {
        let own = state.withLock { $0.values.keys.filter { $0.hasPrefix("\(instance) \(prefix)") } }
        let keys = own.map { String($0.dropFirst(instance.count + 1)) }.sorted().filter {
            $0 > after
        }
        workers.submitBounded { done(.success(Array(keys.prefix(limit)))) }
    }

    package func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping HostAnswer<KeyValueEdited>
    ) throws(PluginFault) {
        let edited = state.withLock { state in
            let stored = state.values["\(instance) \(key)"]
            guard let effect = edit.effect(on: stored) else {
                return KeyValueEdited(isDone: false, value: stored)
            }
            state.values["\(instance) \(key)"] = effect.value
            return KeyValueEdited(isDone: true, value: effect.value)
        }
        workers.submitBounded { done(.success(edited)) }
    }

    package func devices(_ isWanted: (Device) -> Bool) -> [Device] {
        state.withLock { $0.devices.filter(isWanted) }
    }

    package func devices(
        app: String, user: String, done: @escaping HostAnswer<[Device]>
    ) throws(PluginFault) {
        let key = UserKey(app: app, user: user)
        let found = devices { key.owns($0) }
        guard found.isEmpty, let registry else {
            workers.submitBounded { done(.success(found)) }
            return
        }
        registry.devices(of: [key]) { result in
            done(
                result.map { $0[0].map(\.deviceWithPresence) }
                    .mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func device(
        app: String, token: String, done: @escaping HostAnswer<Device?>
    ) throws(PluginFault) {
        let found = devices { $0.token == token && (app.isEmpty || $0.app == app) }.first
        guard found == nil, let registry else {
            workers.submitBounded { done(.success(found)) }
            return
        }
        registry.find(app: app, token: token) { result in
            done(
                result.map { $0.first?.deviceWithPresence }
                    .mapError { PluginFault(.unreachable, $0.message) })
        }
    }

    package func change(
        instance: String, _ change: DeviceChange, done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        state.withLock { state in
            state.devices.removeAll { $0.token == change.device.token }
            if change.kind == .registered, state.devices.count < 10_000 {
                state.devices.append(change.device)
            }
        }
        workers.submitBounded { done(nil) }
    }

    package func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        TimeZones.offset(zone: zone, unixMs: unixMs)
    }

    package func certificate(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> PluginCertificate {
        do throws(PluginFault) {
            return try KeyRing.certificate(bytes, password: password)
        } catch {
            guard isTrusting, let made = try? StandIns.identity() else { throw error }
            return try KeyRing.certificate(made.certificatePEM, password: nil)
        }
    }

    package func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8]) {
        do throws(PluginFault) {
            return try KeyRing.identity(bytes, password: password)
        } catch {
            guard isTrusting, let made = try? StandIns.identity() else { throw error }
            return (made.certificatePEM, made.privateKeyPEM)
        }
    }

    package func onWorker(_ work: @escaping @Sendable () -> Void) { workers.submitBounded(work) }

    package func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void) {
        let workers = workers
        alarms.after(ms: ms) { workers.submitBounded(work) }
    }

    package func readFile(_ path: String) -> [UInt8]? { nil }

    package func shortened(instance: String, field: String) {
        state.withLock { state in
            if state.shortened.count < 1_000 { state.shortened.append(field) }
        }
    }

    package func misbehaved(instance: String, _ what: String) {
        state.withLock { state in
            if state.misdeeds.count < 1_000 { state.misdeeds.append("\(instance): \(what)") }
        }
    }
}

private struct NoMetric: PluginMetric {
    func add(_ delta: Int64) {}
    func set(_ value: Int64) {}
}
