internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import Synchronization

/// The host of one examined instance: the gateway's services, with a check of their callers.
///
/// `@unchecked Sendable`: `raw` is written only in `init`; everything else is locked.
final class HostProbe: @unchecked Sendable {
    /// Where a function may be called from.
    enum Allowed { case any, control, call, refresh }

    /// Finds a service's table by the service's id.
    typealias Lookup =
        @convention(c) (
            UnsafePointer<sbx_host>?, UnsafePointer<CChar>?
        ) -> UnsafeRawPointer?

    private static let known = Mutex<[UInt: HostProbe]>([:])
    /// Bytes that a struct of a newer host has after the ones known today.
    static let tailBytes = 64
    static let tailByte: UInt8 = 0xA5

    let bare: BareHost
    let services: OfflineServices
    /// What the plugin gets.
    ///
    /// It is never freed: a plugin that uses it too late is reported and does not crash.
    let raw: UnsafeMutablePointer<sbx_host>
    /// Whether every struct is longer than today's contract says.
    let isNewer: Bool
    /// Where outcomes of the send role go.
    let flights = SubmittedFlights()
    /// Where batches of the source role go.
    let batches = EmittedBatches()
    /// Answers of the observe role.
    let answers = ObserverAnswers()
    private let isOver = Atomic<Bool>(false)
    private let used = Mutex<Set<String>>([])

    init(
        name: String, config: CheckedConfig, services: OfflineServices, minor: UInt32,
        isNewer: Bool, lookup: Lookup
    ) {
        self.services = services
        self.isNewer = isNewer
        bare = BareHost(
            name: name, version: Gateway.version, minor: minor, secrets: config.secrets,
            services: services
        ) { fault, call in
            Findings.shared.fail(
                fault.kind == .size ? .structsSize : .structsStride, fault.words(in: call))
        }
        let size = MemoryLayout<sbx_host>.size
        let room = UnsafeMutableRawPointer.allocate(
            byteCount: size + Self.tailBytes, alignment: 16)
        room.initializeMemory(
            as: UInt8.self, repeating: Self.tailByte, count: size + Self.tailBytes)
        raw = room.bindMemory(to: sbx_host.self, capacity: 1)
        raw.pointee = bare.raw.pointee
        if isNewer {
            raw.pointee.struct_size = UInt32(size + Self.tailBytes)
            raw.pointee.abi_minor = SBX_ABI_MINOR + 1
        }
        raw.pointee.service = lookup
        Self.known.withLock { $0[UInt(bitPattern: raw)] = self }
    }

    /// The probe for a host that a plugin passes to a service.
    static func from(_ host: UnsafePointer<sbx_host>?) -> HostProbe? {
        guard let host else { return nil }
        return known.withLock { $0[UInt(bitPattern: host)] }
    }

    /// stop() has returned, or destroy() is next: every later call is a fault.
    func end() { isOver.store(true, ordering: .releasing) }

    /// The services that were called since the last call of this function.
    func takeUsed() -> Set<String> {
        used.withLock { used in
            defer { used = [] }
            return used
        }
    }

    /// Notes a plugin's call of a service function; nil if the host was never given out.
    @discardableResult
    static func note(
        _ host: UnsafePointer<sbx_host>?, _ service: String, _ function: String, _ allowed: Allowed
    ) -> HostProbe? {
        guard let probe = from(host) else {
            Findings.shared.fail(
                .threadsServices,
                "\(service) \(function)() was called with a host that the instance was not given")
            return nil
        }
        probe.used.withLock { _ = $0.insert(service) }
        if probe.isOver.load(ordering: .acquiring) {
            Findings.shared.fail(
                .threadsLate,
                "\(service) \(function)() was called after stop() had returned, or in destroy()")
        }
        check("\(service) \(function)()", allowed)
        return probe
    }

    /// Checks that this thread may call the function.
    static func check(_ name: @autoclosure () -> String, _ allowed: Allowed) {
        let note = ThreadNote.current
        let isFine: Bool
        let wanted: String
        switch allowed {
        case .any: return
        case .control:
            isFine = note?.tag == .control
            wanted = "on a [control] thread"
        case .refresh:
            isFine = note?.isRefresh == true
            wanted = "inside refresh"
        case .call:
            isFine = CallScope.current != nil
            wanted = "on the thread of a role call, while it lasts"
        }
        guard !isFine else { return }
        let place = note.map { "in \($0.name)" } ?? "on a thread of the plugin's own"
        Findings.shared.fail(
            .threadsServices, "\(name()) was called \(place); it is allowed \(wanted) alone")
    }
}
