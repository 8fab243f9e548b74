public import SignalboxCore
internal import SignalboxThreads

/// Levels of `sbx.log/1`.
public enum PluginLogLevel: UInt32, Sendable, Comparable {
    case trace = 0
    case debug, info, warn, error

    /// By severity.
    public static func < (a: PluginLogLevel, b: PluginLogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// A counter or gauge that a plugin uses.
public protocol PluginMetric: Sendable {
    /// Counts.
    func add(_ delta: Int64)
    /// Sets a gauge.
    func set(_ value: Int64)
}

/// Algorithms of `sbx.sign/1`; mirrors `SBX_SIGN_*`.
public enum SignAlgorithm: UInt32, Sendable {
    case es256 = 1
    case rs256, ps256, hmacSHA256, hmacSHA1, ed25519

    /// Whether one secret both signs and verifies.
    var isKeyed: Bool { self == .hmacSHA256 || self == .hmacSHA1 }
}

/// Forms of a public key; mirrors `SBX_KEY_*`.
public enum PublicKeyForm: UInt32, Sendable {
    case raw = 1
    case jwk, pem
}

/// A REST call of a plugin.
public struct PluginHTTPCall: Sendable {
    /// `POST`.
    public var method: String
    /// Absolute.
    public var url: String
    /// Header fields.
    public var headers: [Attribute]
    /// Body.
    public var body: [UInt8]
    /// PEM file of trusted roots; empty for the system's.
    public var caFile: String
    /// For the whole call; 0 for the host's default.
    public var timeoutMs: UInt32
    /// Most redirects to follow.
    public var redirectsMax: UInt32
    /// Refuse addresses of private networks.
    public var refusesPrivateAddresses: Bool
}

/// The answer to a REST call of a plugin.
public struct PluginHTTPAnswer: Sendable {
    /// 200, 401, ...
    public var status: UInt32
    /// Names in lower case.
    public var headers: [Attribute]
    /// Body.
    public var body: [UInt8]

    /// Makes an answer.
    public init(status: UInt32, headers: [Attribute] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// The contents of a certificate.
public struct PluginCertificate: Sendable {
    /// `CN=...`.
    public var subject: String
    /// The subject's UID; may be empty.
    public var userID: String
    /// Valid from, in Unix seconds.
    public var notBeforeUnixS: Int64
    /// Valid until, in Unix seconds.
    public var notAfterUnixS: Int64
    /// X.509 extensions.
    public var extensions: [Extension]

    /// An extension.
    public struct Extension: Sendable {
        /// Object identifier, dotted.
        public var oid: String
        /// DER value.
        public var der: [UInt8]

        /// Makes an extension.
        public init(oid: String, der: [UInt8]) {
            self.oid = oid
            self.der = der
        }
    }

    /// Makes a certificate.
    public init(
        subject: String, userID: String, notBeforeUnixS: Int64, notAfterUnixS: Int64,
        extensions: [Extension]
    ) {
        self.subject = subject
        self.userID = userID
        self.notBeforeUnixS = notBeforeUnixS
        self.notAfterUnixS = notAfterUnixS
        self.extensions = extensions
    }
}

/// Receives the answer to a call of a plugin, once.
public typealias HostAnswer<Value> = @Sendable (Result<Value, PluginFault>) -> Void

/// The host's services for plugins. The gateway implements it, and so do tests.
///
/// Thread: any, for every function.
public protocol HostServices: Sendable {
    /// Milliseconds since 1970.
    var nowUnixMs: UInt64 { get }
    /// Milliseconds that never go back, for waits.
    var steadyMs: UInt64 { get }
    /// Whether `nowUnixMs` is the system's time; if not, other processes must ask the host for it.
    var hasSystemClock: Bool { get }
    /// Whether log lines of this level are kept.
    func isLogged(_ level: PluginLogLevel) -> Bool
    /// Whether lines go to another process, which counts them.
    var isRemote: Bool { get }
    /// Writes a log line of a plugin instance.
    func log(
        instance: String, level: PluginLogLevel, message: String, fields: [Attribute])
    /// Makes or finds a metric of an instance; nil if refused.
    func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)?
    /// Signs with a key in the form the algorithm needs.
    func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8]
    /// The public half of a private key.
    func publicKey(_ form: PublicKeyForm, key: [UInt8]) throws(PluginFault) -> [UInt8]
    /// Whether a signature is valid; the key is PEM, a JWK or a JWK set.
    func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool
    /// Starts a REST call; `done` is called once, unless this throws.
    func call(
        _ call: PluginHTTPCall, done: @escaping HostAnswer<PluginHTTPAnswer>
    ) throws(PluginFault)
    /// A durable value of an instance, or nil; `done` is called once, unless this throws.
    func value(
        instance: String, key: String, done: @escaping HostAnswer<[UInt8]?>
    ) throws(PluginFault)
    /// Stores a durable value of an instance, or removes it if nil; `done` gets the fault, or nil.
    func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault)
    /// Keys of an instance behind `after`, in order; `done` is called once, unless this throws.
    func keys(
        instance: String, prefix: String, after: String, limit: Int,
        done: @escaping HostAnswer<[String]>
    ) throws(PluginFault)
    /// Changes a durable value in dependence of what is stored; `done` is called once, unless this throws.
    func edit(
        instance: String, key: String, _ edit: KeyValueEdit,
        done: @escaping HostAnswer<KeyValueEdited>
    ) throws(PluginFault)
    /// Devices of a user of an app, or of every app if `app` is empty; newest first.
    func devices(
        app: String, user: String, done: @escaping HostAnswer<[Device]>
    ) throws(PluginFault)
    /// The device with a token, or nil.
    func device(app: String, token: String, done: @escaping HostAnswer<Device?>) throws(PluginFault)
    /// Applies a device change reported by a plugin instance; `done` gets the fault, or nil.
    func change(
        instance: String, _ change: DeviceChange, done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault)
    /// Seconds that local time is ahead of UTC in a zone at an instant; nil if the zone is unknown.
    func utcOffset(zone: String, unixMs: UInt64) -> Int32?
    /// Reads the leaf certificate of a PEM or PKCS#12 file.
    func certificate(_ bytes: [UInt8], password: [UInt8]?) throws(PluginFault) -> PluginCertificate
    /// Certificate chain and key of a PKCS#12 file (or of PEM with a password), in PEM form.
    func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8])
    /// Runs work soon on a `[worker]` thread.
    func onWorker(_ work: @escaping @Sendable () -> Void)
    /// Runs work on a `[worker]` thread, at least `ms` milliseconds from now.
    func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void)
    /// Reads the file of a secret; nil if it cannot be read now.
    func readFile(_ path: String) -> [UInt8]?
    /// Records that texts of this field (`body`, `data`, ...) were shortened to fit a payload of this instance.
    func shortened(instance: String, field: String)
    /// Records that a plugin broke a rule of the contract.
    func misbehaved(instance: String, _ what: String)
}

extension HostServices {
    /// True: by default `nowUnixMs` is the system's time.
    public var hasSystemClock: Bool { true }
    /// False: by default lines go to the gateway's own log.
    public var isRemote: Bool { false }
}

extension HostServices {
    /// The system's.
    public var steadyMs: UInt64 { SystemClock.monotonicNs / 1_000_000 }
}
