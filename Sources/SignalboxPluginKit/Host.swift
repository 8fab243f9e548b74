internal import CSignalbox
internal import Synchronization

/// The host as one instance sees it.
///
/// `@unchecked Sendable`: the contract lets these functions be called from any thread, and the pointer
/// lives until the instance is destroyed.
public final class Host: @unchecked Sendable {
    /// Levels of log lines.
    public enum LogLevel: UInt32, Sendable {
        case trace = 0
        case debug, info, warn, error
    }

    /// Algorithms for `sign` and `verify`.
    public enum Algorithm: UInt32, Sendable {
        /// EC P-256; a signature is raw r‖s, 64 bytes.
        case es256 = 1
        /// RSA, PKCS#1 v1.5.
        case rs256
        /// RSA, PSS.
        case ps256
        /// The secret's bytes as key.
        case hmacSHA256
        /// Only for sources that require it.
        case hmacSHA1
        /// A signature has 64 bytes.
        case ed25519
    }

    /// Forms of a public key.
    public enum PublicKeyForm: UInt32, Sendable {
        /// P-256: the uncompressed point of 65 bytes; Ed25519: 32 bytes.
        case raw = 1
        /// JSON as RFC 7638 has it: its SHA-256 is the thumbprint.
        case jwk
        /// `BEGIN PUBLIC KEY`.
        case pem
    }

    let raw: UnsafePointer<sbx_host>
    let refreshers = Refreshers()
    private let watchers = Watchers()
    let timers = TimerList()
    let services: ServiceTables
    /// Read for every value, so it is used where it is.
    let json: UnsafePointer<sbx_json>?

    init(_ raw: UnsafePointer<sbx_host>) {
        self.raw = raw
        services = ServiceTables(raw)
        json = raw.pointee.service(raw, SBX_SVC_JSON)?.assumingMemoryBound(to: sbx_json.self)
    }

    /// The instance's name in gateway.yaml.
    public var instanceName: String { String(cString: raw.pointee.instance) }

    /// The program that runs the plugin: `signalbox`, or a program that embeds it.
    public var programName: String { String(cString: raw.pointee.name) }

    /// That program's version.
    public var programVersion: String { String(cString: raw.pointee.version) }

    /// `endpoint` would answer differently now: the host asks it again for each app. It costs new connections.
    ///
    /// Throws `unsupported` in a host of contract 1.0, `stopping`. Thread: any.
    public func endpointsChanged() throws(PluginError) {
        try check("the endpoints are not asked for again") { services.endpointHost.changed?(raw) }
    }

    /// Milliseconds since 1970.
    public var nowUnixMs: UInt64 { services.clock.unix_ms?(raw) ?? 0 }

    /// Writes a log line; never log a token, a secret or a body.
    public func write(_ level: LogLevel, _ message: String, _ fields: [(String, String)] = []) {
        guard services.log.enabled?(raw, level.rawValue) == 1 else { return }
        let arena = Arena()
        services.log.write?(
            raw, level.rawValue, arena.text(message), arena.pairs(fields), fields.count)
    }

    /// Makes a counter; keep it, and count with `add`.
    public func counter(_ name: String, _ labels: [(String, String)] = []) -> Counter {
        let arena = Arena()
        let handle = services.metrics.counter?(
            raw, arena.text(name), arena.pairs(labels), labels.count)
        return Counter(host: self, handle: handle ?? 0)
    }

    /// Makes a gauge; keep it, and set it.
    public func gauge(_ name: String, _ labels: [(String, String)] = []) -> Gauge {
        let arena = Arena()
        let handle = services.metrics.gauge?(
            raw, arena.text(name), arena.pairs(labels), labels.count)
        return Gauge(host: self, handle: handle ?? 0)
    }

    /// Seconds that local time is ahead of UTC in a zone (`Europe/Vienna`) at an instant; nil if the zone
    /// is unknown.
    public func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        let arena = Arena()
        var seconds: Int32 = 0
        let status = services.clock.utc_offset?(raw, arena.text(zone), unixMs, &seconds)
        return status == SBX_OK ? seconds : nil
    }

    /// Sets a function to call on a worker thread whenever the file of a secret has changed; only in `start`.
    public func watch(_ secret: String, _ body: @escaping @Sendable () -> Void) {
        let arena = Arena()
        let watcher = Watcher(body)
        watchers.add(watcher)
        _ = services.secrets.watch?(
            raw, arena.text(secret),
            { context in
                guard let context else { return }
                Unmanaged<Watcher>.fromOpaque(context).takeUnretainedValue().body()
            }, Unmanaged.passUnretained(watcher).toOpaque())
    }

    /// Reads the leaf certificate of a secret that holds PEM or PKCS#12; `password` names the secret that opens it.
    public func certificate(_ secret: String, password: String = "") throws(PluginError)
        -> Certificate
    {
        let arena = Arena()
        var found: UnsafePointer<sbx_certificate>?
        try explained { error in
            services.certificate.read?(
                raw, arena.text(secret), arena.text(password), &found, error)
        }
        guard let found else { throw PluginError(.internal, "the host gave no certificate") }
        return Certificate(found.known(sbx_certificate()))
    }

    /// Removes all callbacks once the instance is gone. They often hold the host, which holds them: this
    /// breaks the cycle.
    func forget() {
        refreshers.removeAll()
        watchers.removeAll()
        timers.removeAll()
    }

    /// The value of a secret; prefer `sign`.
    public func secret(_ name: String) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        return try filled(capacity: 4096) { buffer, length, _ in
            services.secrets.get?(raw, arena.text(name), buffer, length)
        }
    }

    /// Whether text is the value of a secret; the time taken does not reveal how much of it matches.
    public func secretEquals(_ name: String, _ text: String) throws(PluginError) -> Bool {
        let (own, given) = (try secret(name), Array(text.utf8))
        var difference: UInt8 = own.count == given.count ? 0 : 1
        for (index, byte) in given.enumerated() where !own.isEmpty {
            difference |= byte ^ own[index % own.count]
        }
        return difference == 0 && !own.isEmpty
    }

    /// Signs with a secret that stays in the host.
    ///
    /// `pointer` is the place of the key if the secret is a JSON document (`/private_key`).
    public func sign(
        _ algorithm: Algorithm, key: String, pointer: String = "", data: [UInt8]
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        return try filled(capacity: 512) { buffer, length, error in
            services.sign.sign?(
                raw, algorithm.rawValue, arena.text(key), arena.text(pointer), arena.bytes(data),
                buffer, length, error)
        }
    }

    /// The public half of a key that signs; fails with `unsupported` in a host of contract 1.0.
    public func publicKey(
        _ form: PublicKeyForm, key: String, pointer: String = ""
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        return try filled(capacity: 512) { buffer, length, error in
            services.sign.public_key?(
                raw, arena.text(key), arena.text(pointer), form.rawValue, buffer, length, error)
        }
    }

    /// Whether a signature is valid, in constant time.
    ///
    /// Besides secrets, a public key may be given itself as PEM, JWK or JWK set; `/keys/KID` chooses one of a set.
    public func verify(
        _ algorithm: Algorithm, key: String, pointer: String = "", data: [UInt8],
        signature: [UInt8]
    ) throws(PluginError) -> Bool {
        let arena = Arena()
        do throws(PluginError) {
            try explained { error in
                services.sign.verify?(
                    raw, algorithm.rawValue, arena.text(key), arena.text(pointer),
                    arena.bytes(data), arena.bytes(signature), error)
            }
            return true
        } catch {
            guard error.status == .auth else { throw error }
            return false
        }
    }

    /// Whether a signature is valid for one of several keys, for key rotation; all are tried, in constant time.
    public func verify(
        _ algorithm: Algorithm, anyOf keys: [String], data: [UInt8], signature: [UInt8]
    ) throws(PluginError) -> Bool {
        var fits = false
        for key in keys
        where try verify(algorithm, key: key, data: data, signature: signature) { fits = true }
        return fits
    }

    /// The value of a secret as text.
    public func secretText(_ name: String) throws(PluginError) -> String {
        String(decoding: try secret(name), as: UTF8.self)
    }

    /// Parses the body of a request; throws `invalid` if it is not JSON.
    public func parse(bodyOf request: borrowing Request) throws(PluginError) -> JSON {
        do throws(PluginError) {
            return try parse(request.body)
        } catch {
            throw PluginError(.invalid, "the body is not JSON: \(error.message)")
        }
    }

    /// The wait that a response asks for in `retry-after`, in milliseconds; nil for none.
    public func retryAfterMs(_ response: borrowing Response) -> UInt64? {
        response.header("retry-after").flatMap {
            RetryAfter.milliseconds($0, nowUnixMs: nowUnixMs)
        }
    }

    /// Parses JSON; the value lives until the role call returns.
    public func parse(_ bytes: Span<UInt8>) throws(PluginError) -> JSON {
        try bytes.withUnsafeBufferPointer { buffer throws(PluginError) -> JSON in
            try parse(
                sbx_str(
                    ptr: UnsafeRawPointer(buffer.baseAddress)?.assumingMemoryBound(to: CChar.self),
                    len: buffer.count))
        }
    }

    func parse(_ text: sbx_str) throws(PluginError) -> JSON {
        guard let json else { throw PluginError(.unsupported, "the host offers no JSON") }
        var root = sbx_json_value()
        try explained { error in json.pointee.parse(raw, text, &root, error) }
        return JSON(table: json, raw: root)
    }
}

/// A counter metric.
public struct Counter: Sendable {
    let host: Host
    let handle: UInt64

    /// Adds to the counter.
    public func add(_ delta: UInt64 = 1) { host.services.metrics.add?(host.raw, handle, delta) }
}

/// A gauge metric.
public struct Gauge: Sendable {
    let host: Host
    let handle: UInt64

    /// Sets the gauge.
    public func set(_ value: Int64) { host.services.metrics.set?(host.raw, handle, value) }
}

/// The contents of a certificate.
public struct Certificate: Sendable {
    /// `CN=...`.
    public var subject: String
    /// The subject's UID; empty for none.
    public var userID: String
    /// Valid from, in Unix seconds.
    public var notBeforeUnixS: Int64
    /// Valid until, in Unix seconds.
    public var notAfterUnixS: Int64
    /// OID and DER value.
    public var extensions: [(oid: String, der: [UInt8])]

    init(_ raw: sbx_certificate) {
        subject = raw.subject.text
        userID = raw.user_id.text
        notBeforeUnixS = raw.not_before_unix_s
        notAfterUnixS = raw.not_after_unix_s
        extensions = (0..<raw.extension_count).map {
            (raw.extensions[$0].oid.text, Array(raw.extensions[$0].der.raw))
        }
    }
}

/// A function to call when a secret changes.
final class Watcher: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Keeps watchers alive as long as their host.
final class Watchers: Sendable {
    private let all = Mutex<[Watcher]>([])

    func add(_ watcher: Watcher) { all.withLock { $0.append(watcher) } }

    func removeAll() { all.withLock { $0 = [] } }
}
