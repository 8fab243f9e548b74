public import SignalboxCore

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
    case rs256, ps256, hmacSHA256, hmacSHA1
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
    /// PEM file of trusted roots; empty: the system's.
    public var caFile: String
    /// For all of it; 0: the host's default.
    public var timeoutMs: UInt32
    /// Redirects that are followed.
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

/// What a certificate says.
public struct PluginCertificate: Sendable {
    /// `CN=...`.
    public var subject: String
    /// The subject's UID; may be empty.
    public var userID: String
    /// Good from, in Unix seconds.
    public var notBeforeUnixS: Int64
    /// Good until, in Unix seconds.
    public var notAfterUnixS: Int64
    /// OID and DER value.
    public var extensions: [(oid: String, der: [UInt8])]

    /// Makes one.
    public init(
        subject: String, userID: String, notBeforeUnixS: Int64, notAfterUnixS: Int64,
        extensions: [(oid: String, der: [UInt8])]
    ) {
        self.subject = subject
        self.userID = userID
        self.notBeforeUnixS = notBeforeUnixS
        self.notAfterUnixS = notAfterUnixS
        self.extensions = extensions
    }
}

/// What the host gives to plugins; the gateway implements it, and tests do.
///
/// Thread: any, for every function.
public protocol HostServices: Sendable {
    /// Milliseconds since 1970.
    var nowUnixMs: UInt64 { get }
    /// That is the system's time; false: it has to be asked for, since it goes its own way.
    var hasSystemClock: Bool { get }
    /// Would a line of this level be kept?
    func isLogged(_ level: PluginLogLevel) -> Bool
    /// Writes a line of a plugin instance.
    func log(
        instance: String, level: PluginLogLevel, message: String, fields: [Attribute])
    /// Makes or finds a metric of an instance; nil: refused.
    func metric(
        instance: String, name: String, labels: [Attribute], isGauge: Bool
    ) -> (any PluginMetric)?
    /// Signs with a key in the form that the algorithm asks for.
    func sign(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8]
    ) throws(PluginFault) -> [UInt8]
    /// Whether a signature fits.
    func verify(
        _ algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]
    ) throws(PluginFault) -> Bool
    /// Starts a REST call; `done` is called once, unless this throws.
    func call(
        _ call: PluginHTTPCall,
        done: @escaping @Sendable (Result<PluginHTTPAnswer, PluginFault>) -> Void
    ) throws(PluginFault)
    /// A durable value of an instance, or nil; `done` is called once, unless this throws.
    func value(
        instance: String, key: String,
        done: @escaping @Sendable (Result<[UInt8]?, PluginFault>) -> Void
    ) throws(PluginFault)
    /// Keeps a durable value of an instance, or removes it (nil); `done` gets what went wrong, or nil.
    func set(
        instance: String, key: String, value: [UInt8]?, expiresUnixMs: UInt64?,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault)
    /// Devices of a user of an app (empty: of every app), newest first.
    func devices(
        app: String, user: String,
        done: @escaping @Sendable (Result<[Device], PluginFault>) -> Void
    ) throws(PluginFault)
    /// The device with a token, or nil.
    func device(
        app: String, token: String,
        done: @escaping @Sendable (Result<Device?, PluginFault>) -> Void
    ) throws(PluginFault)
    /// A device came or went, says a plugin instance; `done` gets what went wrong, or nil.
    func change(
        instance: String, _ change: DeviceChange,
        done: @escaping @Sendable (PluginFault?) -> Void
    ) throws(PluginFault)
    /// How far local time is ahead of UTC in a zone at an instant, in seconds; nil: no such zone.
    func utcOffset(zone: String, unixMs: UInt64) -> Int32?
    /// What the leaf of a PEM or PKCS#12 file says.
    func certificate(_ bytes: [UInt8], password: [UInt8]?) throws(PluginFault) -> PluginCertificate
    /// Certificate chain and key of a PKCS#12 file (or of PEM with a password), in PEM form.
    func identity(
        _ bytes: [UInt8], password: [UInt8]?
    ) throws(PluginFault) -> (certificate: [UInt8], key: [UInt8])
    /// Runs something soon on a `[worker]` thread.
    func onWorker(_ work: @escaping @Sendable () -> Void)
    /// Runs something on a `[worker]` thread, not before `ms` have passed.
    func onWorker(afterMs ms: UInt64, _ work: @escaping @Sendable () -> Void)
    /// Reads a file that a secret came from; nil: not now.
    func readFile(_ path: String) -> [UInt8]?
    /// A payload of this instance was made to fit: texts of this field (`body`, `data`, ...) were shortened.
    func shortened(instance: String, field: String)
    /// A plugin broke a rule of the contract.
    func misbehaved(instance: String, _ what: String)
}

extension HostServices {
    /// That is the system's time.
    public var hasSystemClock: Bool { true }
}
