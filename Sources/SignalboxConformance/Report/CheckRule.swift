/// A rule of the contract that can be checked from outside; its raw value is a stable name.
public enum CheckRule: String, Sendable, CaseIterable {
    case fileMode = "file.mode"
    case fileExports = "file.exports"
    case fileRelocations = "file.relocations"
    case fileStack = "file.stack"
    case fileHost = "file.host"

    case entryLoads = "entry.loads"
    case entryQuick = "entry.quick"
    case entryEffects = "entry.effects"
    case entryAgain = "entry.again"

    case descriptorID = "descriptor.id"
    case descriptorVersion = "descriptor.version"
    case descriptorSummary = "descriptor.summary"
    case descriptorRoles = "descriptor.roles"
    case descriptorTables = "descriptor.tables"
    case descriptorNeeds = "descriptor.needs"

    case configSchema = "config.schema"
    case configValues = "config.values"

    case lifeCreate = "life.create"
    case lifeRefusals = "life.refusals"
    case lifeMany = "life.many"
    case lifeOrder = "life.order"
    case lifeCredentials = "life.credentials"
    case lifeStop = "life.stop"
    case lifeThreads = "life.threads"
    case lifeFiles = "life.files"
    case lifeProcess = "life.process"

    case ingestPaths = "ingest.paths"
    case ingestHostile = "ingest.hostile"
    case ingestSamples = "ingest.samples"
    case ingestHuge = "ingest.huge"
    case ingestEmits = "ingest.emits"
    case ingestFinish = "ingest.finish"
    case ingestThreads = "ingest.threads"
    case ingestBlocks = "ingest.blocks"

    case filterPure = "filter.pure"
    case filterServices = "filter.services"
    case filterDecides = "filter.decides"
    case filterUnknown = "filter.unknown"
    case filterThreads = "filter.threads"
    case filterBlocks = "filter.blocks"

    case buildPure = "build.pure"
    case buildServices = "build.services"
    case buildRecipients = "build.recipients"
    case buildUnknown = "build.unknown"
    case buildSamples = "build.samples"
    case buildEmits = "build.emits"
    case buildThreads = "build.threads"
    case buildBlocks = "build.blocks"

    case sendHTTPEndpoint = "send-http.endpoint"
    case sendHTTPPrepare = "send-http.prepare"
    case sendHTTPHostile = "send-http.hostile"
    case sendHTTPLeaks = "send-http.leaks"
    case sendHTTPEqual = "send-http.equal"
    case sendHTTPClassify = "send-http.classify"
    case sendHTTPReasons = "send-http.reasons"
    case sendHTTPThreads = "send-http.threads"
    case sendHTTPBlocks = "send-http.blocks"

    case registerKinds = "register.kinds"
    case registerEndpoint = "register.endpoint"
    case registerPrepare = "register.prepare"
    case registerHostile = "register.hostile"
    case registerLeaks = "register.leaks"
    case registerClassify = "register.classify"
    case registerReasons = "register.reasons"
    case registerThreads = "register.threads"
    case registerBlocks = "register.blocks"

    case sendSubmit = "send.submit"
    case sendBlocks = "send.blocks"
    case sendOutcomes = "send.outcomes"
    case sendReasons = "send.reasons"
    case sendStop = "send.stop"
    case sendThreads = "send.threads"

    case sourceResume = "source.resume"
    case sourceEvents = "source.events"
    case sourceTokens = "source.tokens"
    case sourcePause = "source.pause"
    case sourceBlocks = "source.blocks"

    case observeBlocks = "observe.blocks"
    case observeAnswers = "observe.answers"

    case structsSize = "structs.size"
    case structsStride = "structs.stride"
    case structsLonger = "structs.longer"
    case structsExact = "structs.exact"

    case threadsServices = "threads.services"
    case threadsSinks = "threads.sinks"
    case threadsLate = "threads.late"

    case payloadsFit = "payloads.fit"

    case secretsLogs = "secrets.logs"
    case secretsWords = "secrets.words"
    case secretsOutput = "secrets.output"

    case memoryFaults = "memory.faults"
    case memoryLeaks = "memory.leaks"

    /// The first word of the name. Rules of one section are checked together.
    public var section: String { String(rawValue.prefix { $0 != "." }) }

    /// The rule of its section about blocking calls; nil if the section lacks one.
    var blocks: CheckRule? { CheckRule(rawValue: "\(section).blocks") }
}
