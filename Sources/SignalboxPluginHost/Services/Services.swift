internal import CSignalbox

/// The services that this host offers, by id.
enum Services {
    static let offered = [
        SBX_SVC_LOG, SBX_SVC_METRICS, SBX_SVC_SECRETS, SBX_SVC_TIMER, SBX_SVC_JSON, SBX_SVC_SIGN,
        SBX_SVC_CREDENTIAL, SBX_SVC_HTTP, SBX_SVC_CLOCK, SBX_SVC_KV,
        SBX_SVC_REGISTRY, SBX_SVC_CERTIFICATE, SBX_SVC_SEND_HOST, SBX_SVC_SOURCE_HOST,
        SBX_SVC_OBSERVE_HOST, SBX_SVC_FIT, SBX_SVC_SCOPE, SBX_SVC_CRYPTO,
        SBX_SVC_ENDPOINT_HOST,
    ]

    /// Finds a table for a plugin.
    static let lookup: InstanceContext.ServiceLookup = { _, id in
        String(plugin: id).flatMap { table($0) }
    }

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
        case SBX_SVC_SOURCE_HOST: sourceHost.raw
        case SBX_SVC_OBSERVE_HOST: observeHost.raw
        case SBX_SVC_FIT: fit.raw
        case SBX_SVC_SCOPE: scope.raw
        case SBX_SVC_CRYPTO: crypto.raw
        case SBX_SVC_ENDPOINT_HOST: endpointHost.raw
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
    private static let sourceHost = Immortal(SourceHostService.table)
    private static let observeHost = Immortal(ObserveHostService.table)
    private static let scope = Immortal(ScopeService.table)
    private static let fit = Immortal(FitService.table)
    private static let crypto = Immortal(CryptoService.table)
    private static let endpointHost = Immortal(EndpointHostService.table)

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
