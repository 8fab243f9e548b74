internal import SignalboxCore

extension SignAlgorithm: WireValue {}

extension PublicKeyForm: WireValue {}

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

    /// Within the bounds of `sbx.kv/1`.
    var isSound: Bool {
        switch self {
        case .add(_, let forMs): return forMs ?? 0 <= KVService.lifeMsMax
        case .replace(let expected, let value, let forMs):
            return max(expected?.count ?? 0, value?.count ?? 0) <= KVService.valueBytesMax
                && forMs ?? 0 <= KVService.lifeMsMax
        }
    }
}

extension KeyValueEdited: WireRecord {
    static let layout = WireLayout(Self.init, \.isDone, \.value)
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
