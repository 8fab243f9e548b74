internal import CSignalbox
internal import SignalboxCore

/// The services that this host offers, by id.
enum Services {
    static let offered = [
        SBX_SVC_LOG, SBX_SVC_METRICS, SBX_SVC_SECRETS, SBX_SVC_TIMER, SBX_SVC_JSON, SBX_SVC_SIGN,
        SBX_SVC_CREDENTIAL, SBX_SVC_HTTP, SBX_SVC_CLOCK, SBX_SVC_KV,
        SBX_SVC_REGISTRY, SBX_SVC_CERTIFICATE, SBX_SVC_SEND_HOST, SBX_SVC_FIT,
    ]

    /// The table of a service; it lives as long as the process.
    static func table(_ id: String) -> UnsafeRawPointer? {
        switch id {
        case SBX_SVC_LOG: log.raw
        case SBX_SVC_METRICS: metrics.raw
        case SBX_SVC_SECRETS: secrets.raw
        case SBX_SVC_TIMER: timer.raw
        case SBX_SVC_JSON: json.raw
        case SBX_SVC_SIGN: sign.raw
        case SBX_SVC_CREDENTIAL: credential.raw
        case SBX_SVC_HTTP: http.raw
        case SBX_SVC_CLOCK: clock.raw
        case SBX_SVC_KV: kv.raw
        case SBX_SVC_REGISTRY: registry.raw
        case SBX_SVC_CERTIFICATE: certificate.raw
        case SBX_SVC_SEND_HOST: sendHost.raw
        case SBX_SVC_FIT: fit.raw
        default: nil
        }
    }

    private static let log = Immortal(LogService.table)
    private static let metrics = Immortal(MetricsService.table)
    private static let secrets = Immortal(SecretsService.table)
    private static let timer = Immortal(TimerService.table)
    private static let json = Immortal(JSONService.table)
    private static let sign = Immortal(SignService.table)
    private static let credential = Immortal(CredentialService.table)
    private static let http = Immortal(HTTPService.table)
    private static let clock = Immortal(ClockService.table)
    private static let kv = Immortal(KVService.table)
    private static let registry = Immortal(RegistryService.table)
    private static let certificate = Immortal(CertificateService.table)
    private static let sendHost = Immortal(SendHostService.table)
    private static let fit = Immortal(FitService.table)

    /// A struct at an address that never changes.
    ///
    /// `@unchecked Sendable`: it is never written after `init`.
    private final class Immortal<Table: BitwiseCopyable>: @unchecked Sendable {
        let raw: UnsafeRawPointer

        init(_ table: Table) {
            let room = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            room.initialize(to: table)
            raw = UnsafeRawPointer(room)
        }
    }
}

extension InstanceContext {
    /// Starts something whose answer reaches the plugin later, on a worker; a stop waits for it.
    ///
    /// `start` gets a function that runs the answer; it is called exactly once if the status is OK.
    func answering(
        _ start: (@escaping @Sendable (@escaping @Sendable () -> Void) -> Void) -> sbx_status
    ) -> sbx_status {
        guard calls.enter() else { return SBX_E_STOPPING }
        let status = start { [self] answer in
            services.onWorker {
                defer { self.calls.leave() }
                answer()
            }
        }
        if status != SBX_OK { calls.leave() }
        return status
    }
}

/// A pointer that a plugin wants back, on whatever thread.
///
/// `@unchecked Sendable`: the host never looks at what it points to; the contract says which thread
/// the plugin gets it back on.
struct PluginContext: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
}

enum KeyValues {
    /// Copies pairs of a plugin.
    static func copy(_ start: UnsafePointer<sbx_kv>?, _ count: Int) -> [Attribute] {
        guard let start else { return [] }
        return (0..<count).map { Attribute(start[$0].key.text, start[$0].value.text) }
    }

    /// The same as overrides of a notification.
    static func copy(_ start: UnsafePointer<sbx_kv>?, _ count: Int) -> [PayloadOverride] {
        guard let start else { return [] }
        return (0..<count).map {
            PayloadOverride(family: start[$0].key.text, json: start[$0].value.text)
        }
    }
}
