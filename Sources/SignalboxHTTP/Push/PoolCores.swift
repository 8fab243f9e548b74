internal import Glibc
internal import NIOCore
internal import NIOPosix
internal import Synchronization

/// What must be equal for pools to share connections.
struct PoolKey: Hashable, Sendable {
    let endpoint: PushEndpoint
    let owner: ObjectIdentifier
    /// The file of trusted roots, as it is now: replaced or changed, it needs new connections.
    private let roots: [Int]

    init(_ endpoint: PushEndpoint, owner: AnyObject) {
        self.endpoint = endpoint
        self.owner = ObjectIdentifier(owner)
        var facts = stat()
        roots =
            endpoint.caFile.map { stat($0, &facts) } == 0
            ? [
                Int(facts.st_ino), Int(facts.st_size), facts.st_mtim.tv_sec,
                facts.st_mtim.tv_nsec,
            ] : []
    }
}

/// The connections of all pools: one core for those with the same key, as long as one of them uses it.
final class PoolCores: Sendable {
    private let group: MultiThreadedEventLoopGroup
    /// Finds the addresses of a host, in place of the system's resolver.
    private let resolver: (any Resolver & Sendable)?
    private let gates = HostGates()
    private let current = Mutex<[PoolKey: PoolCore]>([:])

    init(_ group: MultiThreadedEventLoopGroup, resolver: (any Resolver & Sendable)?) {
        self.group = group
        self.resolver = resolver
    }

    /// The core for a key; `onEvent` counts if it is new.
    func join(
        _ key: PoolKey, onEvent: @escaping @Sendable (PushPoolEvent) -> Void
    ) throws(EndpointError) -> PoolCore {
        try current.withLock { current throws(EndpointError) -> PoolCore in
            if let core = current[key] {
                core.clientCount.add(1, ordering: .relaxed)
                return core
            }
            let core = PoolCore(
                endpoint: key.endpoint, eventLoop: group.next(),
                tls: try PushTLS.context(key.endpoint), gate: gates.gate(key.endpoint),
                resolver: resolver, onEvent: onEvent)
            current[key] = core
            return core
        }
    }

    /// Returns whether that was the core's last client.
    func leave(_ key: PoolKey, _ core: PoolCore) -> Bool {
        current.withLock { current in
            let left = core.clientCount.subtract(1, ordering: .relaxed).newValue
            if left == 0, current[key] === core { current[key] = nil }
            return left == 0
        }
    }

    /// Whether a new pool would use this core.
    func isCurrent(_ key: PoolKey, _ core: PoolCore) -> Bool {
        current.withLock { $0[key] === core }
    }

    /// Whoever joins from now on gets new connections.
    func outdate(of owner: AnyObject) {
        let owner = ObjectIdentifier(owner)
        current.withLock { current in current = current.filter { $0.key.owner != owner } }
    }
}
