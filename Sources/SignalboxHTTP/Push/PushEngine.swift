internal import NIOCore
package import NIOPosix
public import SignalboxCore

/// The owner of a pool that shares no connections.
final class OneOwner: Sendable {}

/// The event loops that pools run on.
public final class PushEngine: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let cores: PoolCores

    /// Starts `threads` event loops; fails if the system has no descriptors or threads for them.
    public convenience init(threads: Int) throws(ResourceError) {
        try self.init(threads: threads, resolver: nil)
    }

    package init(
        threads: Int, resolver: (any Resolver & Sendable)?
    ) throws(ResourceError) {
        group = try EventLoops.group(threads: threads, name: "sbx-push")
        cores = PoolCores(group, resolver: resolver)
        PipeSignal.settle(group)
    }

    /// Makes a pool; fails if the endpoint's certificates are unreadable. The error says whether it
    /// may work later.
    ///
    /// Pools of the same `owner` with the same endpoint share connections, whose events are reported to the first of
    /// them; without an owner a pool has its own. The closures are called on the pool's event loop and must return
    /// quickly. While `maySend` is false, nothing is sent: requests come back as `.withdrawn`. `onAnswer` gets the
    /// nanoseconds from sending to each answer.
    public func makePool(
        endpoint: PushEndpoint, owner: (any AnyObject & Sendable)? = nil,
        onResults: @escaping @Sendable ([PushResult]) -> Void,
        onEvent: @escaping @Sendable (PushPoolEvent) -> Void,
        onAnswer: @escaping @Sendable (UInt64) -> Void = { _ in },
        maySend: @escaping @Sendable () -> Bool
    ) throws(EndpointError) -> PushPool {
        try PushPool(
            endpoint, PoolClient(onResults: onResults, onAnswer: onAnswer, maySend: maySend),
            owner: owner ?? OneOwner(), in: cores, onEvent: onEvent)
    }

    /// Credentials or endpoints of an owner have changed: its pools have new connections once they are renewed, and those
    /// that are made from now on at once.
    public func outdate(_ owner: any AnyObject & Sendable) { cores.outdate(of: owner) }

    /// Throws if no pool can be made for an endpoint: its CA file or client certificate is unusable. Connects nowhere.
    public static func check(_ endpoint: PushEndpoint) throws(EndpointError) {
        _ = try PushTLS.context(endpoint)
    }

    /// Calls back once each event loop has had its turn.
    public func turn(_ done: @escaping @Sendable () -> Void) {
        var next = done
        for loop in group.makeIterator() {
            let after = next
            next = { loop.execute(after) }
        }
        next()
    }

    /// Ends the event loops; all pools must be shut down first.
    public func shutdown() async { try? await group.shutdownGracefully() }
}
