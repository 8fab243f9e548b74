internal import CSignalbox
internal import Signalbox
internal import SignalboxCore
internal import SignalboxPluginHost
internal import Synchronization

/// The host of one examined instance: the gateway's services, with an eye on who calls them from where.
///
/// `@unchecked Sendable`: `raw` is written in `init` alone; everything else is locked.
final class HostProbe: @unchecked Sendable {
    /// From where a function may be called.
    enum Allowed { case any, control, call, refresh }

    /// Finds the table of a service by its id.
    typealias Lookup =
        @convention(c) (
            UnsafePointer<sbx_host>?, UnsafePointer<CChar>?
        ) -> UnsafeRawPointer?

    private static let known = Mutex<[UInt: HostProbe]>([:])
    /// Bytes that a struct of a newer host has behind those that are known today.
    static let tailBytes = 64
    static let tailByte: UInt8 = 0xA5

    let bare: BareHost
    let services: CheckServices
    /// What the plugin gets. It is never freed: a plugin that keeps it too long must be found, not crash.
    let raw: UnsafeMutablePointer<sbx_host>
    /// Everything is longer than today's contract says.
    let isNewer: Bool
    /// For the role send: where outcomes go.
    let flights = FlightBook()
    private let isOver = Atomic<Bool>(false)
    private let used = Mutex<Set<String>>([])

    init(
        name: String, config: CheckedConfig, services: CheckServices, minor: UInt32,
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

    /// The probe behind a host that a plugin hands to a service.
    static func from(_ host: UnsafePointer<sbx_host>?) -> HostProbe? {
        guard let host else { return nil }
        return known.withLock { $0[UInt(bitPattern: host)] }
    }

    /// stop() has returned: from here on every call is a fault.
    func end() { isOver.store(true, ordering: .releasing) }

    /// Services that were called since the last time this was asked.
    func takeUsed() -> Set<String> {
        used.withLock { used in
            defer { used = [] }
            return used
        }
    }

    /// A plugin calls a function of a service; nil: with a host that was never given out.
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
                .threadsLate, "\(service) \(function)() was called after stop() had returned")
        }
        check("\(service) \(function)()", allowed)
        return probe
    }

    /// Whether this thread may call it.
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
