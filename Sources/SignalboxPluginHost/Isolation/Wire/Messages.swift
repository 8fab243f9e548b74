internal import SignalboxCore
internal import SignalboxJSON

/// The calls and notices on the wire.
enum WireMethod: UInt16, CaseIterable {
    // The gateway asks the plugin's process.
    case create = 1
    case start, roles, endpoint, prepare, classify, build, ingest, submit, stop, resumeSource
    case pauseSource, observe, filter
    // The gateway notifies the plugin's process.
    case credentialRefused, fetchCredentials, settled
    // The plugin's process asks the gateway.
    case now = 32
    case sign, verify, call, value, set, devices, device, change, utcOffset, certificate, identity
    case metric, readFile, publicKey, keys, edit
    // The plugin's process notifies the gateway.
    case log = 64
    case count, misbehaved, shortened, credentialReady, endpointsChanged, outcomes, room, batch
    case condition
}

/// The role that a translator call is for.
enum TranslatorRole: UInt8 {
    case sendHTTP = 1
    case register
}

/// Makes an instance.
struct CreateMessage: WireValue {
    var name: String
    var program: String
    var version: String
    var library: String
    /// The SHA-256 that the library's file must have; nil accepts any.
    var sha256: String?
    /// How the process must have confined itself.
    var confinement: Confinement
    var config: String
    var secrets: [String: PluginSecret]
    /// Bit n: lines of level n are kept.
    var logLevels: UInt32
    /// The gateway's clock is not the system's, so the process must ask for the time.
    var asksForTime: Bool
    var workers: UInt32

    init(
        name: String, program: String, version: String, library: String, sha256: String?,
        confinement: Confinement, config: String, secrets: [String: PluginSecret],
        logLevels: UInt32, asksForTime: Bool, workers: UInt32
    ) {
        self.name = name
        self.program = program
        self.version = version
        self.library = library
        self.sha256 = sha256
        self.confinement = confinement
        self.config = config
        self.secrets = secrets
        self.logLevels = logLevels
        self.asksForTime = asksForTime
        self.workers = workers
    }

    func write(to writer: WireWriter) {
        writer.put(Wire.version)
        for text in [name, program, version, library, confinement.rawValue, config] {
            writer.put(text)
        }
        writer.put(sha256)
        writer.put(UInt32(secrets.count))
        for (name, secret) in secrets.sorted(by: { $0.key < $1.key }) {
            writer.put(name)
            writer.put(secret.bytes)
            writer.put(secret.file)
        }
        writer.put(logLevels)
        writer.put(asksForTime)
        writer.put(workers)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        let spoken = try reader.number(UInt32.self)
        guard spoken == Wire.version else {
            throw WireFault(
                "the gateway speaks wire version \(spoken), and this program \(Wire.version)"
            )
        }
        name = try reader.text()
        program = try reader.text()
        version = try reader.text()
        library = try reader.text()
        let word = try reader.text()
        guard let found = Confinement(rawValue: word) else {
            throw WireFault("there is no isolation \(word)")
        }
        confinement = found
        config = try reader.text()
        sha256 = try reader.value(String?.self)
        secrets = [:]
        for _ in 0..<(try reader.count(least: 9)) {
            let name = try reader.text()
            secrets[name] = PluginSecret(bytes: try reader.bytes(), file: try reader.value())
        }
        logLevels = try reader.number()
        asksForTime = try reader.flag()
        workers = try reader.number()
    }
}

/// The library of a new instance.
struct LibraryFacts: WireValue, Equatable {
    var id: String
    var roles: [String]
    var schema: String?

    init(_ descriptor: PluginDescriptor) {
        id = descriptor.id
        roles = descriptor.roles
        // In the inspector's form, which parses the JSON and writes it again.
        schema = descriptor.configSchema.map { text in
            (try? JSONValue.parse(text))?.text ?? text
        }
    }

    func write(to writer: WireWriter) {
        writer.put(id)
        writer.put(roles)
        writer.put(schema)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        id = try reader.text()
        roles = try reader.list()
        schema = try reader.value()
    }
}

extension Limits: WireValue {
    func write(to writer: WireWriter) {
        writer.put(UInt64(clamping: devicesPerEventMax))
        writer.put(UInt64(clamping: eventsPerRequestMax))
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init()
        devicesPerEventMax = Int(clamping: try reader.number(UInt64.self))
        eventsPerRequestMax = Int(clamping: try reader.number(UInt64.self))
    }
}

/// The roles of an instance, as sent to the gateway.
struct RoleFacts: WireValue, Equatable {
    /// A role that takes batches; if `maxBatch` is nil, the host chooses.
    struct Batches: WireValue, Equatable {
        var maxBatch: UInt32?
        /// Bit n: it wants changes of kind n.
        var kinds: UInt64 = 0

        init(maxBatch: Int?, kinds: UInt64 = 0) {
            self.maxBatch = maxBatch.map { UInt32(clamping: $0) }
            self.kinds = kinds
        }

        func write(to writer: WireWriter) {
            writer.put(maxBatch) { writer.put($0) }
            writer.put(kinds)
        }

        init(from reader: inout WireReader) throws(WireFault) {
            maxBatch = try reader.optional { reader throws(WireFault) in try reader.number() }
            kinds = try reader.number()
        }
    }

    var paths: [IngestPath]?
    var filters = false
    var builds = false
    var sendHTTP: Batches?
    var send: Batches?
    var register: Batches?
    var isSource = false
    var observe: Batches?

    init() {}

    func write(to writer: WireWriter) {
        writer.put(paths)
        writer.put(filters)
        writer.put(builds)
        writer.put(sendHTTP)
        writer.put(send)
        writer.put(register)
        writer.put(isSource)
        writer.put(observe)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        paths = try reader.value()
        filters = try reader.flag()
        builds = try reader.flag()
        sendHTTP = try reader.value()
        send = try reader.value()
        register = try reader.value()
        isSource = try reader.flag()
        observe = try reader.value()
    }
}

extension IngestPath: WireValue {
    func write(to writer: WireWriter) {
        writer.put(pattern)
        writer.put(methods)
    }

    init(from reader: inout WireReader) throws(WireFault) {
        self.init(pattern: try reader.text(), methods: try reader.list())
    }
}
