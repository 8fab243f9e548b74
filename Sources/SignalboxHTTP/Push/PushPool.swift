internal import NIOCore
package import NIOPosix
public import SignalboxCore

/// Connections to one endpoint for one sender and app.
///
/// Every submitted request gets exactly one result that is not late. A request is sent at the
/// latest six time-outs after its submission while others are answered, or one time-out after it if
/// none is. The request time-out starts at sending, so a slow peer causes slow progress, not a wave
/// of time-outs.
///
/// After a time-out the request's stream stays open for the same time again. An answer in that time is
/// a second result, with `isLate`. If no answer comes, there is no second result.
///
/// All work runs on one event loop, which reports the results; those of one read come together.
public final class PushPool: Sendable {
    /// Which proxy its connections go through.
    public let proxies: ProxyRules
    private let core: PoolCore
    private let gates: HostGates

    init(core: PoolCore, gates: HostGates, proxies: ProxyRules) {
        self.core = core
        self.proxies = proxies
        self.gates = gates
    }

    /// Sends the requests of a batch.
    ///
    /// Thread: any.
    public func submit(_ batch: RequestBatch) {
        core.eventLoop.execute { self.core.submit(batch) }
    }

    /// Sends nothing more on a connection; it closes when its open requests have ended.
    ///
    /// Connections to one host are left at a bounded rate, the same as that of failed connects: above it the connection stays.
    public func leave(connection: UInt64) {
        core.eventLoop.execute { self.core.leave(connection: connection) }
    }

    /// Returns requests that wait for a stream, as `.withdrawn`.
    public func withdraw() {
        core.eventLoop.execute { self.core.withdraw() }
    }

    /// Connects to this endpoint from now on, with its certificates as they are now; open connections get no more
    /// requests and finish what they have.
    public func renew(_ endpoint: PushEndpoint) throws(EndpointError) {
        let tls = try PushTLS.context(endpoint)
        let gate = gates.gate(endpoint)
        core.eventLoop.execute { self.core.renew(endpoint, tls, gate) }
    }

    /// The pool's current status.
    public func status() async -> PushPoolStatus {
        await withCheckedContinuation { continuation in
            core.eventLoop.execute { continuation.resume(returning: self.core.status) }
        }
    }

    /// Shuts the pool down: waiting requests get `.stopping`, those in flight have until the deadline.
    ///
    /// It waits neither for late answers nor for connections that answer nothing.
    public func shutdown(deadlineMs: Int) async {
        let done = core.eventLoop.makePromise(of: Void.self)
        core.eventLoop.execute { self.core.stop(deadlineMs: deadlineMs, done: done) }
        try? await done.futureResult.get()
    }
}

/// The event loops that pools run on.
public final class PushEngine: Sendable {
    private let group: MultiThreadedEventLoopGroup
    private let gates = HostGates()

    /// Finds the addresses of a host, in place of the system's resolver.
    private let resolver: (any Resolver & Sendable)?

    /// Starts `threads` event loops; fails if the system has no descriptors or threads for them.
    public convenience init(threads: Int) throws(ResourceError) {
        try self.init(threads: threads, resolver: nil)
    }

    package init(
        threads: Int, resolver: (any Resolver & Sendable)?
    ) throws(ResourceError) {
        self.resolver = resolver
        group = try EventLoops.group(threads: threads, name: "sbx-push")
        PipeSignal.settle(group)
    }

    /// Makes a pool; fails if the endpoint's certificates are unreadable. The error says whether it
    /// may work later.
    ///
    /// The closures are called on the pool's event loop and must return quickly. While `maySend` is false, nothing
    /// is sent: requests come back as `.withdrawn`. `onAnswer` gets the nanoseconds from sending to each answer.
    public func makePool(
        endpoint: PushEndpoint, onResults: @escaping @Sendable ([PushResult]) -> Void,
        onEvent: @escaping @Sendable (PushPoolEvent) -> Void,
        onAnswer: @escaping @Sendable (UInt64) -> Void = { _ in },
        maySend: @escaping @Sendable () -> Bool
    ) throws(EndpointError) -> PushPool {
        let core = PoolCore(
            endpoint: endpoint, eventLoop: group.next(), tls: try PushTLS.context(endpoint),
            gate: gates.gate(endpoint), resolver: resolver, onResults: onResults, onEvent: onEvent,
            onAnswer: onAnswer, maySend: maySend)
        return PushPool(core: core, gates: gates, proxies: endpoint.proxies)
    }

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
