internal import CSignalbox

/// The services that this host offers, by id.
enum Services {
    /// Finds a table for a plugin.
    static let lookup: InstanceContext.ServiceLookup = { _, id in
        String(plugin: id).flatMap { table($0) }
    }

    static func isOffered(_ id: String) -> Bool { tables[id] != nil }

    /// The table of a service; it lives as long as the process.
    static func table(_ id: String) -> UnsafeRawPointer? { tables[id]?.raw }

    private static let tables = [
        SBX_SVC_LOG: Immortal(LogService.table),
        SBX_SVC_METRICS: Immortal(MetricsService.table),
        SBX_SVC_SECRETS: Immortal(SecretsService.table),
        SBX_SVC_TIMER: Immortal(TimerService.table),
        SBX_SVC_JSON: Immortal(JSONService.table),
        SBX_SVC_SIGN: Immortal(SignService.table),
        SBX_SVC_CREDENTIAL: Immortal(CredentialService.table),
        SBX_SVC_HTTP: Immortal(HTTPService.table),
        SBX_SVC_CLOCK: Immortal(ClockService.table),
        SBX_SVC_KV: Immortal(KVService.table),
        SBX_SVC_REGISTRY: Immortal(RegistryService.table),
        SBX_SVC_CERTIFICATE: Immortal(CertificateService.table),
        SBX_SVC_SEND_HOST: Immortal(SendHostService.table),
        SBX_SVC_SOURCE_HOST: Immortal(SourceHostService.table),
        SBX_SVC_OBSERVE_HOST: Immortal(ObserveHostService.table),
        SBX_SVC_SCOPE: Immortal(ScopeService.table),
        SBX_SVC_FIT: Immortal(FitService.table),
        SBX_SVC_CRYPTO: Immortal(CryptoService.table),
        SBX_SVC_ENDPOINT_HOST: Immortal(EndpointHostService.table),
    ]

    /// A table at an address that never changes, with its size set.
    ///
    /// `@unchecked Sendable`: it is never written after `init`.
    private final class Immortal: @unchecked Sendable {
        let raw: UnsafeRawPointer

        init<Table: BitwiseCopyable>(_ table: Table) {
            let room = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            room.initialize(to: table)
            UnsafeMutableRawPointer(room).storeBytes(
                of: UInt32(MemoryLayout<Table>.size), as: UInt32.self)
            raw = UnsafeRawPointer(room)
        }
    }
}
