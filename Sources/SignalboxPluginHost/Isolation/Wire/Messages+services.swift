internal import SignalboxCore

/// Signs, or checks a signature, with a key.
struct SignMessage: WireValue {
    var algorithm: SignAlgorithm
    var key: [UInt8]
    var data: [UInt8]
    /// The signature to check; nil to make one.
    var signature: [UInt8]?

    init(algorithm: SignAlgorithm, key: [UInt8], data: [UInt8], signature: [UInt8]? = nil) {
        self.algorithm = algorithm
        self.key = key
        self.data = data
        self.signature = signature
    }

    func write(to writer: WireWriter) {
        writer.put(algorithm.rawValue)
        writer.put(key)
        writer.put(data)
        writer.put(signature) { writer.put($0) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let algorithm = SignAlgorithm(rawValue: try reader.number()) else {
            throw WireFault("there is no such algorithm")
        }
        self.algorithm = algorithm
        key = try reader.bytes()
        data = try reader.bytes()
        signature = try reader.optional { reader throws(WireFault) in try reader.bytes() }
    }
}

/// Stores a durable value, or removes it.
struct SetMessage: WireValue {
    var key: String
    var value: [UInt8]?
    var expiresUnixMs: UInt64?

    init(key: String, value: [UInt8]?, expiresUnixMs: UInt64?) {
        self.key = key
        self.value = value
        self.expiresUnixMs = expiresUnixMs
    }

    func write(to writer: WireWriter) {
        writer.put(key)
        writer.put(value) { writer.put($0) }
        writer.put(expiresUnixMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        key = try reader.text()
        value = try reader.optional { reader throws(WireFault) in try reader.bytes() }
        expiresUnixMs = try reader.value()
    }
}

/// Lists keys of durable values.
struct KeysMessage: WireValue {
    var prefix: String
    var after: String
    var limit: UInt32

    init(prefix: String, after: String, limit: UInt32) {
        self.prefix = prefix
        self.after = after
        self.limit = limit
    }

    func write(to writer: WireWriter) {
        writer.put(prefix)
        writer.put(after)
        writer.put(limit)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        prefix = try reader.text()
        after = try reader.text()
        limit = try reader.number()
    }
}

/// Changes a durable value in dependence of what is stored.
struct EditMessage: WireValue {
    var key: String
    var edit: KeyValueEdit

    init(key: String, edit: KeyValueEdit) {
        self.key = key
        self.edit = edit
    }

    func write(to writer: WireWriter) {
        writer.put(key)
        switch edit {
        case .replace(let expected, let value, let forMs):
            writer.put(true)
            writer.put(expected) { writer.put($0) }
            writer.put(value) { writer.put($0) }
            writer.put(forMs)
        case .add(let amount, let forMs):
            writer.put(false)
            writer.put(amount)
            writer.put(forMs)
        }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        key = try reader.text()
        guard try reader.flag() else {
            edit = .add(try reader.number(), forMs: try reader.value())
            return
        }
        edit = .replace(
            expected: try reader.optional { reader throws(WireFault) in try reader.bytes() },
            value: try reader.optional { reader throws(WireFault) in try reader.bytes() },
            forMs: try reader.value())
    }

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

extension KeyValueEdited: WireValue {
    func write(to writer: WireWriter) {
        writer.put(isDone)
        writer.put(value) { writer.put($0) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(
            isDone: try reader.flag(),
            value: try reader.optional { reader throws(WireFault) in try reader.bytes() })
    }
}

/// Looks up devices of an app: all of a user, or the one with a token.
struct DevicesMessage: WireValue {
    var app: String
    var name: String

    init(app: String, name: String) {
        self.app = app
        self.name = name
    }

    func write(to writer: WireWriter) {
        writer.put(app)
        writer.put(name)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        app = try reader.text()
        name = try reader.text()
    }
}

/// Asks for the offset of a zone at an instant.
struct ZoneMessage: WireValue {
    var zone: String
    var unixMs: UInt64

    init(zone: String, unixMs: UInt64) {
        self.zone = zone
        self.unixMs = unixMs
    }

    func write(to writer: WireWriter) {
        writer.put(zone)
        writer.put(unixMs)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        zone = try reader.text()
        unixMs = try reader.number()
    }
}

/// Reads a certificate, or turns one with its key into PEM.
struct CertificateMessage: WireValue {
    var bytes: [UInt8]
    var password: [UInt8]?

    init(bytes: [UInt8], password: [UInt8]?) {
        self.bytes = bytes
        self.password = password
    }

    func write(to writer: WireWriter) {
        writer.put(bytes)
        writer.put(password) { writer.put($0) }
    }

    init(from reader: inout WireReader) throws(WireFault) {
        bytes = try reader.bytes()
        password = try reader.optional { reader throws(WireFault) in try reader.bytes() }
    }
}

/// A certificate chain with its key.
struct IdentityMessage: WireValue {
    var certificate: [UInt8]
    var key: [UInt8]

    init(certificate: [UInt8], key: [UInt8]) {
        self.certificate = certificate
        self.key = key
    }

    func write(to writer: WireWriter) {
        writer.put(certificate)
        writer.put(key)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        certificate = try reader.bytes()
        key = try reader.bytes()
    }
}

/// Makes a metric; later messages name it by its number.
struct MetricMessage: WireValue {
    var number: UInt32
    var name: String
    var labels: [Attribute]
    var isGauge: Bool

    init(number: UInt32, name: String, labels: [Attribute], isGauge: Bool) {
        self.number = number
        self.name = name
        self.labels = labels
        self.isGauge = isGauge
    }

    func write(to writer: WireWriter) {
        writer.put(number)
        writer.put(name)
        writer.put(labels)
        writer.put(isGauge)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        number = try reader.number()
        name = try reader.text()
        labels = try reader.list()
        isGauge = try reader.flag()
    }
}

/// Counts, or sets a gauge.
struct CountMessage: WireValue {
    var number: UInt32
    var isSet: Bool
    var value: Int64

    init(number: UInt32, isSet: Bool, value: Int64) {
        self.number = number
        self.isSet = isSet
        self.value = value
    }

    func write(to writer: WireWriter) {
        writer.put(number)
        writer.put(isSet)
        writer.put(value)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        number = try reader.number()
        isSet = try reader.flag()
        value = try reader.number()
    }
}

/// A line for the log.
struct LogMessage: WireValue {
    var level: PluginLogLevel
    var message: String
    var fields: [Attribute]

    init(level: PluginLogLevel, message: String, fields: [Attribute]) {
        self.level = level
        self.message = message
        self.fields = fields
    }

    func write(to writer: WireWriter) {
        writer.put(level.rawValue)
        writer.put(message)
        writer.put(fields)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let level = PluginLogLevel(rawValue: try reader.number()) else {
            throw WireFault("there is no such level")
        }
        self.level = level
        message = try reader.text()
        fields = try reader.list()
    }
}

/// Asks for the public half of a key.
struct PublicKeyMessage: WireValue {
    var form: PublicKeyForm
    var key: [UInt8]

    init(form: PublicKeyForm, key: [UInt8]) {
        self.form = form
        self.key = key
    }

    func write(to writer: WireWriter) {
        writer.put(form.rawValue)
        writer.put(key)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        guard let form = PublicKeyForm(rawValue: try reader.number()) else {
            throw WireFault("there is no such form of a public key")
        }
        self.form = form
        key = try reader.bytes()
    }
}
