import Foundation
import SignalboxCore
import SignalboxCrypto
import SignalboxPluginHost
import Synchronization

/// Host services for tests: real signatures, a settable clock, REST calls answered by a closure.
package final class RigServices: HostServices {
    package typealias Server = @Sendable (PluginHTTPCall) -> Result<PluginHTTPAnswer, PluginFault>

    private struct State {
        var nowUnixMs: UInt64?
        var steadyMs: UInt64 = 0
        var lines: [String] = []
        var faults: [String] = []
        var shortened: [String] = []
        var calls: [PluginHTTPCall] = []
        var counts: [String: Int64] = [:]
        var values: [String: [UInt8]] = [:]
        var devices: [Device] = []
        var isVirtual = false
        var alarms: [(dueMs: UInt64, work: @Sendable () -> Void)] = []
    }

    private let state = Mutex(State())
    private let server: Server
    private let queue = DispatchQueue(label: "workers", attributes: .concurrent)

    package init(
        nowUnixMs: UInt64? = nil,
        server: @escaping Server = { _ in .failure(PluginFault(.unreachable, "no server")) }
    ) {
        self.server = server
        state.withLock { $0.nowUnixMs = nowUnixMs }
    }

    /// How many values plugins keep.
    package var valueCount: Int { state.withLock { $0.values.count } }

    /// Log lines as `instance level message key=value`.
    package var lines: [String] { state.withLock { $0.lines } }
    /// How plugins violated the contract.
    package var faults: [String] { state.withLock { $0.faults } }
    /// REST calls.
    package var calls: [PluginHTTPCall] { state.withLock { $0.calls } }
    /// Metrics by name.
    package var counts: [String: Int64] { state.withLock { $0.counts } }

    /// Waits, at most a minute, for something that a plugin does in its own time.
    package func waitFor(_ isThere: () -> Bool) async {
        for _ in 0..<60_000 where !isThere() { try? await Task.sleep(for: .milliseconds(1)) }
    }

    package var nowUnixMs: UInt64 {
        state.withLock { $0.nowUnixMs } ?? UInt64(Date().timeIntervalSince1970 * 1000)
    }

    package var steadyMs: UInt64 {
        state.withLock { $0.isVirtual ? $0.steadyMs : nil }
            ?? DispatchTime.now().uptimeNanoseconds / 1_000_000
    }

    /// Sets the wall clock without letting time pass.
    package func setWall(unixMs: UInt64) { state.withLock { $0.nowUnixMs = unixMs } }

    package var hasSystemClock: Bool { state.withLock { $0.nowUnixMs } == nil }

    package func isLogged(_ level: PluginLogLevel) -> Bool { true }

    package func log(
        instance: String, level: PluginLogLevel, message: String, fields: [Attribute]
    ) {
        let parts = fields.map { "\($0.key)=\($0.value)" }
        let line = (["\(instance) \(level) \(message)"] + parts).joined(separator: " ")
        state.withLock { $0.lines.append(line) }
    }

    package func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)? { RigMetric(name: name, services: self) }

    fileprivate func set(_ name: String, _ value: Int64) {
        state.withLock { $0.counts[name] = value }
    }

    fileprivate func count(_ name: String, _ delta: Int64) {
        state.withLock { $0.counts[name, default: 0] += delta }
    }

    package func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        do {
            switch algorithm {
            case .es256: return try SigningKey(pem: key).signES256(data)
            case .rs256: return try SigningKey(pem: key).signRS256(data)
            case .ps256: return try SigningKey(pem: key).signPS256(data)
            case .hmacSHA256: return HMACDigest.sha256(key: key, data: data)
            case .hmacSHA1: return HMACDigest.sha1(key: key, data: data)
            case .ed25519: return try SigningKey(pem: key).signEd25519(data)
            }
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    package func publicKey(
        _ form: PublicKeyForm, key: [UInt8]
    ) throws(PluginFault) -> [UInt8] {
        do {
            let key = try SigningKey(pem: key)
            switch form {
            case .raw: return key.publicKeyRaw ?? []
            case .jwk: return Array(key.publicKeyJWK.utf8)
            case .pem: return try key.publicKeyPEM()
            }
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    package func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool {
        guard algorithm == .es256 else {
            return HMACDigest.isEqual(try sign(algorithm, key: key, data: data), signature)
        }
        do {
            return try VerifyingKey(anyPEM: key).verifyES256(signature, data: data)
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    package func call(
        _ call: PluginHTTPCall, done: @escaping HostAnswer<PluginHTTPAnswer>
    ) throws(PluginFault) {
        state.withLock { $0.calls.append(call) }
        queue.async { [server] in done(server(call)) }
    }

    package func value(
        instance: String, key: String, done: @escaping HostAnswer<[UInt8]?>
    ) throws(PluginFault) {
        let found = state.withLock { $0.values["\(instance) \(key)"] }
        queue.async { done(.success(found)) }
    }

    package func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        state.withLock { $0.values["\(instance) \(key)"] = value }
        queue.async { done(nil) }
    }

    package func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping HostAnswer<[String]>
    ) throws(PluginFault) {
        let own = state.withLock { $0.values.keys.filter { $0.hasPrefix("\(instance) \(prefix)") } }
        let keys = own.map { String($0.dropFirst(instance.count + 1)) }.sorted().filter {
            $0 > after
        }
        queue.async { done(.success(Array(keys.prefix(limit)))) }
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
        queue.async { done(.success(edited)) }
    }

    package func devices(
        app: String, user: String, done: @escaping HostAnswer<[Device]>
    ) throws(PluginFault) {
        let found = state.withLock { state in
            state.devices.filter { $0.user == user && (app.isEmpty || $0.app == app) }
        }
        queue.async { done(.success(found)) }
    }

    package func device(
        app: String, token: String, done: @escaping HostAnswer<Device?>
    ) throws(PluginFault) {
        let found = state.withLock { state in
            state.devices.first { $0.token == token && (app.isEmpty || $0.app == app) }
        }
        queue.async { done(.success(found)) }
    }

    package func change(
        instance: String, _ change: DeviceChange, done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault) {
        state.withLock { state in
            state.devices.removeAll { $0.token == change.device.token }
            if change.kind == .registered { state.devices.append(change.device) }
        }
        queue.async { done(nil) }
    }

    package func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        TimeZone(identifier: zone).map {
            Int32($0.secondsFromGMT(for: Date(timeIntervalSince1970: Double(unixMs) / 1000)))
        }
    }

    package func certificate(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> PluginCertificate {
        do {
            let found = try Certificate.read(bytes, password: password)
            return PluginCertificate(
                subject: found.subject, userID: found.userID,
                notBeforeUnixS: found.notBeforeUnixS, notAfterUnixS: found.notAfterUnixS,
                extensions: found.extensions.map { .init(oid: $0.oid, der: $0.der) })
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    package func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8]) {
        do {
            let identity = try ClientIdentity.read(bytes, password: password)
            return (identity.certificatePEM, identity.privateKeyPEM)
        } catch {
            throw PluginFault(.invalid, "\(error)")
        }
    }

    /// The devices in the registry.
    package var devices: [Device] {
        get { state.withLock { $0.devices } }
        set { state.withLock { $0.devices = newValue } }
    }

    package func onWorker(_ work: @escaping @Sendable () -> Void) { queue.async(execute: work) }

    /// Whether timers wait for `advance` instead of real time.
    package var isVirtual: Bool {
        get { state.withLock { $0.isVirtual } }
        set { state.withLock { $0.isVirtual = newValue } }
    }

    /// Lets virtual time pass, and runs due timers on this thread.
    package func advance(ms: UInt64) {
        let due = state.withLock { state in
            state.nowUnixMs = (state.nowUnixMs ?? 0) + ms
            state.steadyMs += ms
            let now = state.steadyMs
            let due = state.alarms.filter { $0.dueMs <= now }
            state.alarms.removeAll { $0.dueMs <= now }
            return due
        }
        for alarm in due { alarm.work() }
    }

    package func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void) {
        let isKept = state.withLock { state in
            guard state.isVirtual else { return false }
            state.alarms.append((state.steadyMs + ms, work))
            return true
        }
        if isKept { return }
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(ms)), execute: work)
    }

    package func readFile(_ path: String) -> [UInt8]? {
        FileManager.default.contents(atPath: path).map { Array($0) }
    }

    package func shortened(instance: String, field: String) {
        state.withLock { $0.shortened.append(field) }
    }

    /// The fields whose texts were shortened, in order.
    package var shortenedFields: [String] { state.withLock { $0.shortened } }

    package func misbehaved(instance: String, _ what: String) {
        state.withLock { $0.faults.append("\(instance): \(what)") }
    }
}

private struct RigMetric: PluginMetric {
    let name: String
    let services: RigServices

    func add(_ delta: Int64) { services.count(name, delta) }
    func set(_ value: Int64) { services.set(name, value) }
}
