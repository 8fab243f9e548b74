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
    private let log: UnsafePointer<sbx_log>?
    private let metrics: UnsafePointer<sbx_metrics>?
    private let secrets: UnsafePointer<sbx_secrets>?
    private let signer: UnsafePointer<sbx_sign>?
    private let clock: UnsafePointer<sbx_clock>?
    let json: UnsafePointer<sbx_json>?
    let credentials: UnsafePointer<sbx_credential>?
    let http: UnsafePointer<sbx_http>?
    let kv: UnsafePointer<sbx_kv_store>?
    let registry: UnsafePointer<sbx_registry>?
    let timer: UnsafePointer<sbx_timer>?
    let sendHost: UnsafePointer<sbx_send_host>?
    let sourceHost: UnsafePointer<sbx_source_host>?
    let observeHost: UnsafePointer<sbx_observe_host>?
    let fit: UnsafePointer<sbx_fit>?
    let scopes: UnsafePointer<sbx_scope>?
    let crypto: UnsafePointer<sbx_crypto>?
    private let certificates: UnsafePointer<sbx_certificates>?
    private let endpoints: UnsafePointer<sbx_endpoint_host>?

    init(_ raw: UnsafePointer<sbx_host>) {
        self.raw = raw
        func table<Table>(_ id: String) -> UnsafePointer<Table>? {
            raw.pointee.service(raw, id)?.assumingMemoryBound(to: Table.self)
        }
        log = table(SBX_SVC_LOG)
        metrics = table(SBX_SVC_METRICS)
        secrets = table(SBX_SVC_SECRETS)
        signer = table(SBX_SVC_SIGN)
        clock = table(SBX_SVC_CLOCK)
        json = table(SBX_SVC_JSON)
        credentials = table(SBX_SVC_CREDENTIAL)
        http = table(SBX_SVC_HTTP)
        kv = table(SBX_SVC_KV)
        registry = table(SBX_SVC_REGISTRY)
        timer = table(SBX_SVC_TIMER)
        sendHost = table(SBX_SVC_SEND_HOST)
        sourceHost = table(SBX_SVC_SOURCE_HOST)
        observeHost = table(SBX_SVC_OBSERVE_HOST)
        fit = table(SBX_SVC_FIT)
        scopes = table(SBX_SVC_SCOPE)
        crypto = table(SBX_SVC_CRYPTO)
        certificates = table(SBX_SVC_CERTIFICATE)
        endpoints = table(SBX_SVC_ENDPOINT_HOST)
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
        guard let endpoints else { throw PluginError(.unsupported, "the host asks once") }
        let status = endpoints.pointee.changed(raw)
        guard status == SBX_OK else {
            throw PluginError(.init(code: status), "the endpoints are not asked for again")
        }
    }

    /// Milliseconds since 1970.
    public var nowUnixMs: UInt64 { clock?.pointee.unix_ms(raw) ?? 0 }

    /// Writes a log line; never log a token, a secret or a body.
    public func write(_ level: LogLevel, _ message: String, _ fields: [(String, String)] = []) {
        guard let log, log.pointee.enabled(raw, level.rawValue) == 1 else { return }
        let arena = Arena()
        log.pointee.write(
            raw, level.rawValue, arena.text(message), arena.pairs(fields), fields.count)
    }

    /// Makes a counter; keep it, and count with `add`.
    public func counter(_ name: String, _ labels: [(String, String)] = []) -> Counter {
        let arena = Arena()
        let handle = metrics?.pointee.counter(
            raw, arena.text(name), arena.pairs(labels), labels.count)
        return Counter(host: self, handle: handle ?? 0)
    }

    /// Makes a gauge; keep it, and set it.
    public func gauge(_ name: String, _ labels: [(String, String)] = []) -> Gauge {
        let arena = Arena()
        let handle = metrics?.pointee.gauge(
            raw, arena.text(name), arena.pairs(labels), labels.count)
        return Gauge(host: self, handle: handle ?? 0)
    }

    func set(_ handle: UInt64, _ value: Int64) { metrics?.pointee.set(raw, handle, value) }

    /// Seconds that local time is ahead of UTC in a zone (`Europe/Vienna`) at an instant; nil if the zone
    /// is unknown.
    public func utcOffset(zone: String, unixMs: UInt64) -> Int32? {
        let arena = Arena()
        var seconds: Int32 = 0
        let status = clock?.pointee.utc_offset(raw, arena.text(zone), unixMs, &seconds)
        return status == SBX_OK ? seconds : nil
    }

    /// Sets a function to call on a worker thread whenever the file of a secret has changed; only in `start`.
    public func watch(_ secret: String, _ body: @escaping @Sendable () -> Void) {
        let arena = Arena()
        let watcher = Watcher(body)
        watchers.add(watcher)
        _ = secrets?.pointee.watch(
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
        guard let certificates else {
            throw PluginError(.unsupported, "the host does not read certificates")
        }
        let arena = Arena()
        var error = sbx_error.fresh
        var found: UnsafePointer<sbx_certificate>?
        let status = certificates.pointee.read(
            raw, arena.text(secret), arena.text(password), &found, &error)
        guard status == SBX_OK, let found else { throw PluginError(code: status, error: error) }
        return Certificate(found.known(sbx_certificate()))
    }

    /// Removes all callbacks once the instance is gone. They often hold the host, which holds them: this
    /// breaks the cycle.
    func forget() {
        refreshers.removeAll()
        watchers.removeAll()
        timers.removeAll()
    }

    /// Adds to the counter.
    func add(_ handle: UInt64, _ delta: UInt64) { metrics?.pointee.add(raw, handle, delta) }

    /// The value of a secret; prefer `sign`.
    public func secret(_ name: String) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        return try filled(capacity: 4096) { buffer, length, _ in
            secrets?.pointee.get(raw, arena.text(name), buffer, length) ?? SBX_E_UNSUPPORTED
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
            signer?.pointee.sign(
                raw, algorithm.rawValue, arena.text(key), arena.text(pointer), arena.bytes(data),
                buffer, length, error) ?? SBX_E_UNSUPPORTED
        }
    }

    /// The public half of a key that signs; fails with `unsupported` in a host of contract 1.0.
    public func publicKey(
        _ form: PublicKeyForm, key: String, pointer: String = ""
    ) throws(PluginError) -> [UInt8] {
        let arena = Arena()
        return try filled(capacity: 512) { buffer, length, error in
            signer.flatMap { $0.known(sbx_sign()).public_key }?(
                raw, arena.text(key), arena.text(pointer), form.rawValue, buffer, length, error)
                ?? SBX_E_UNSUPPORTED
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
        var error = sbx_error.fresh
        let status =
            signer?.pointee.verify(
                raw, algorithm.rawValue, arena.text(key), arena.text(pointer), arena.bytes(data),
                arena.bytes(signature), &error) ?? SBX_E_UNSUPPORTED
        if status == SBX_OK { return true }
        if status == SBX_E_AUTH { return false }
        throw PluginError(code: status, error: error)
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
        var error = sbx_error.fresh
        let status = json.pointee.parse(raw, text, &root, &error)
        guard status == SBX_OK else { throw PluginError(code: status, error: error) }
        return JSON(table: json, raw: root)
    }

    func filled(
        capacity: Int,
        _ body: (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<Int>, UnsafeMutablePointer<sbx_error>
        ) -> sbx_status
    ) throws(PluginError) -> [UInt8] {
        var room = [UInt8](repeating: 0, count: capacity)
        var length = capacity
        var error = sbx_error.fresh
        var status = room.withUnsafeMutableBytes { body($0.baseAddress, &length, &error) }
        if status == SBX_E_TOO_LARGE {
            room = [UInt8](repeating: 0, count: length)
            status = room.withUnsafeMutableBytes { body($0.baseAddress, &length, &error) }
        }
        guard status == SBX_OK else { throw PluginError(code: status, error: error) }
        room.removeLast(room.count - length)
        return room
    }
}

/// A counter metric.
public struct Counter: Sendable {
    let host: Host
    let handle: UInt64

    /// Adds to the counter.
    public func add(_ delta: UInt64 = 1) { host.add(handle, delta) }
}

/// A gauge metric.
public struct Gauge: Sendable {
    let host: Host
    let handle: UInt64

    /// Sets the gauge.
    public func set(_ value: Int64) { host.set(handle, value) }
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
