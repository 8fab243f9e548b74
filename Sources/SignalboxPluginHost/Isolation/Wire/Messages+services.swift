internal import SignalboxCore

/// Signs, or checks a signature, with a key.
struct SignMessage: WireRecord {
    var algorithm: SignAlgorithm
    var key: [UInt8]
    var data: [UInt8]
    /// The signature to check; nil to make one.
    var signature: [UInt8]?

    static let layout = WireLayout(Self.init, \.algorithm, \.key, \.data, \.signature)
}

extension SignAlgorithm: WireValue {}

/// Asks for the public half of a key.
struct PublicKeyMessage: WireRecord {
    var form: PublicKeyForm
    var key: [UInt8]

    static let layout = WireLayout(Self.init, \.form, \.key)
}

extension PublicKeyForm: WireValue {}

/// Stores a durable value, or removes it.
struct SetMessage: WireRecord {
    var key: String
    var value: [UInt8]?
    var expiresUnixMs: UInt64?

    static let layout = WireLayout(Self.init, \.key, \.value, \.expiresUnixMs)
}

/// Lists keys of durable values.
struct KeysMessage: WireRecord {
    var prefix: String
    var after: String
    var limit: Int

    static let layout = WireLayout(Self.init, \.prefix, \.after, \.limit)
}

/// Changes a durable value in dependence of what is stored.
struct EditMessage: WireRecord {
    var key: String
    var edit: KeyValueEdit

    static let layout = WireLayout(Self.init, \.key, \.edit)

    /// Within the bounds of `sbx.kv/1`.
    var isSound: Bool {
        guard key.utf8.count <= KVService.keyBytesMax else { return false }
        switch edit {
        case .add(_, let forMs): return forMs ?? 0 <= KVService.lifeMsMax
        case .replace(let expected, let value, let forMs):
            return max(expected?.count ?? 0, value?.count ?? 0) <= KVService.valueBytesMax
                && forMs ?? 0 <= KVService.lifeMsMax
        }
    }
}

extension KeyValueEdit: WireValue {
    func write(to writer: WireWriter) {
        switch self {
        case .replace(let expected, let value, let forMs):
            writer.put(true)
            writer.put(expected)
            writer.put(value)
            writer.put(forMs)
        case .add(let amount, let forMs):
            writer.put(false)
            writer.put(amount)
            writer.put(forMs)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self =
            try reader.value()
            ? .replace(
                expected: try reader.value(), value: try reader.value(), forMs: try reader.value())
            : .add(try reader.value(), forMs: try reader.value())
    }
}

extension KeyValueEdited: WireRecord {
    static let layout = WireLayout(Self.init, \.isDone, \.value)
}

/// Looks up devices of an app: all of a user, or the one with a token.
struct DevicesMessage: WireRecord {
    var app: String
    var name: String

    static let layout = WireLayout(Self.init, \.app, \.name)
}

/// Asks for the offset of a zone at an instant.
struct ZoneMessage: WireRecord {
    var zone: String
    var unixMs: UInt64

    static let layout = WireLayout(Self.init, \.zone, \.unixMs)
}

/// Reads a certificate, or turns one with its key into PEM.
struct CertificateMessage: WireRecord {
    var bytes: [UInt8]
    var password: [UInt8]?

    static let layout = WireLayout(Self.init, \.bytes, \.password)
}

extension PluginCertificate: WireRecord {
    static let layout = WireLayout(
        Self.init, \.subject, \.userID, \.notBeforeUnixS, \.notAfterUnixS, \.extensions)
}

extension PluginCertificate.Extension: WireRecord {
    static let layout = WireLayout(Self.init, \.oid, \.der)
}

/// Makes a metric; later messages name it by its number.
struct MetricMessage: WireRecord {
    var number: UInt32
    var name: String
    var labels: [Attribute]
    var isGauge: Bool

    static let layout = WireLayout(Self.init, \.number, \.name, \.labels, \.isGauge)
}

/// Counts, or sets a gauge.
struct CountMessage: WireRecord {
    var number: UInt32
    var isSet: Bool
    var value: Int64

    static let layout = WireLayout(Self.init, \.number, \.isSet, \.value)
}

/// A line for the log.
struct LogMessage: WireRecord {
    var level: PluginLogLevel
    var message: String
    var fields: [Attribute]

    static let layout = WireLayout(Self.init, \.level, \.message, \.fields)
}

extension PluginLogLevel: WireValue {}

extension PluginHTTPCall: WireRecord {
    static let layout = WireLayout(
        Self.init, \.method, \.url, \.headers, \.body, \.caFile, \.timeoutMs, \.redirectsMax,
        \.refusesPrivateAddresses)
}

extension PluginHTTPAnswer: WireRecord {
    static let layout = WireLayout(Self.init, \.status, \.headers, \.body)
}

/// A message that is longer than a gateway keeps is cut.
extension PluginFault: WireRecord {
    private static let wordsMax = 4_096

    static let layout = WireLayout(
        { kind, words in
            Self(kind, words.utf8.count > wordsMax ? String(words.prefix(1_000)) : words)
        }, \.kind, \.message)
}

extension PluginFault.Kind: WireValue {}
