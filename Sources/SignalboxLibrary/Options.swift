internal import CSignalbox
internal import Logging
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// The host's context pointer.
///
/// `@unchecked Sendable`: never dereferenced here; gateway.h says on which threads
/// the host gets it back.
struct HostContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}

extension GatewayOptions {
    /// Reads the host's options; nil if it gave neither or both of file and text.
    init?(_ raw: sbx_gateway_options) {
        let (file, text) = (raw.config_file.text, raw.config_text.text)
        guard file.isEmpty != text.isEmpty else { return nil }
        self.init(configPath: file)
        if !text.isEmpty { setConfig(text: text, folder: raw.config_folder.text) }
        let data = raw.data_folder.text
        if !data.isEmpty { dataFolder = data }
        // Plugins are next to the library or in the installation's plugin folder.
        searchBeside(Self.libraryFolder)
        addPluginFolders(raw.plugin_folders.text.split(separator: ":").map(String.init))
        let name = raw.program.text
        if !name.isEmpty { program = (name, raw.program_version.text) }
        let context = HostContext(pointer: raw.context)
        silence()
        if let log = raw.log {
            let host = HostLog(log: log, context: context)
            setLog(level: HostLog.level(raw.log_level)) { host.write($0, $1, $2) }
        }
        if let results = raw.results {
            onOutcome = { outcome in
                let lent = Lent()
                var result = lent.result(outcome)
                results(context.pointer, &result, 1, MemoryLayout<sbx_delivery_result>.stride)
            }
        }
    }

    /// The folder of this library.
    private static var libraryFolder: String? {
        LibraryFile.path.flatMap { path in path.lastIndex(of: "/").map { String(path[..<$0]) } }
    }
}

extension Lent {
    fileprivate func result(_ outcome: DeliveryOutcome) -> sbx_delivery_result {
        var out = sbx_delivery_result()
        out.struct_size = UInt32(MemoryLayout<sbx_delivery_result>.size)
        out.result = outcome.result.rawValue
        out.attempt = outcome.attempt
        out.provider_code = outcome.providerCode
        out.event_id = outcome.eventID
        out.subject = text(outcome.subject)
        out.source = text(outcome.source)
        out.route = text(outcome.route)
        out.sender = text(outcome.sender)
        out.app = text(outcome.app)
        out.user = text(outcome.user)
        out.token = text(outcome.token)
        out.stable_id = text(outcome.stableID)
        out.reason = text(outcome.reason)
        out.provider_id = text(outcome.providerID)
        return out
    }
}

/// Passes log lines to the host.
private struct HostLog: Sendable {
    typealias Log =
        @convention(c) (
            UnsafeMutableRawPointer?, UInt32, sbx_str, UnsafePointer<sbx_kv>?, Int
        ) -> Void

    let log: Log
    let context: HostContext

    func write(_ level: Logger.Level, _ message: String, _ fields: [Attribute]) {
        let lent = Lent()
        log(
            context.pointer, Self.number(level), lent.text(message), lent.pairs(fields),
            fields.count)
    }

    private static func number(_ level: Logger.Level) -> UInt32 {
        switch level {
        case .trace: SBX_LOG_TRACE
        case .debug: SBX_LOG_DEBUG
        case .info, .notice: SBX_LOG_INFO
        case .warning: SBX_LOG_WARN
        case .error, .critical: SBX_LOG_ERROR
        }
    }

    /// The level that `log_level` of the options names, or nil for the configuration's.
    static func level(_ number: UInt32) -> Logger.Level? {
        switch number {
        case 0: nil
        case SBX_LOG_TRACE + 1: .trace
        case SBX_LOG_DEBUG + 1: .debug
        case SBX_LOG_INFO + 1: .info
        case SBX_LOG_WARN + 1: .warning
        default: .error
        }
    }
}
