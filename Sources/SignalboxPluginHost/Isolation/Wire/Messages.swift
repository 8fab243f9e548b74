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
enum TranslatorRole: UInt8, WireValue {
    case sendHTTP = 1
    case register
}

/// The first field of the first message: only programs of one wire version understand each other.
struct WireVersion: WireValue {
    func write(to writer: WireWriter) { writer.put(Wire.version) }
    init() {}
    init(from reader: inout WireReader) throws(WireFault) {
        let spoken = try reader.value(UInt32.self)
        guard spoken == Wire.version else {
            throw WireFault(
                "the gateway speaks wire version \(spoken), and this program \(Wire.version)"
            )
        }
    }
}

/// Makes an instance.
struct CreateMessage: WireRecord {
    var version = WireVersion()
    var name: String
    var program: String
    var programVersion: String
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

    static let layout = WireLayout(
        Self.init, \.version, \.name, \.program, \.programVersion, \.library, \.sha256,
        \.confinement, \.config, \.secrets, \.logLevels, \.asksForTime, \.workers)
}

extension Confinement: WireValue {}

extension PluginSecret: WireRecord {
    static let layout = WireLayout(Self.init, \.bytes, \.file)
}

/// The library of a new instance.
struct LibraryFacts: WireRecord, Equatable {
    var id = ""
    var roles: [String] = []
    var schema: String?

    static let layout = WireLayout(in: Self(), \.id, \.roles, \.schema)
}

extension LibraryFacts {
    init(_ descriptor: PluginDescriptor) {
        id = descriptor.id
        roles = descriptor.roles
        // In the inspector's form, which parses the JSON and writes it again.
        schema = descriptor.configSchema.map { text in
            (try? JSONValue.parse(text))?.text ?? text
        }
    }
}

extension Limits: WireRecord {
    static let layout = WireLayout(in: Self(), \.devicesPerEventMax, \.eventsPerRequestMax)
}

/// The roles of an instance, as sent to the gateway.
struct RoleFacts: WireRecord, Equatable {
    /// A role that takes batches; if `maxBatch` is nil, the host chooses.
    struct Batches: WireRecord, Equatable {
        var maxBatch: Int?
        /// Bit n: it wants changes of kind n.
        var kinds: UInt64 = 0

        static let layout = WireLayout(Self.init, \.maxBatch, \.kinds)
    }

    var paths: [IngestPath]?
    var filters = false
    var builds = false
    var sendHTTP: Batches?
    var send: Batches?
    var register: Batches?
    var isSource = false
    var observe: Batches?

    static let layout = WireLayout(
        in: Self(), \.paths, \.filters, \.builds, \.sendHTTP, \.send, \.register, \.isSource,
        \.observe)
}

extension IngestPath: WireRecord {
    static let layout = WireLayout(Self.init, \.pattern, \.methods)
}
