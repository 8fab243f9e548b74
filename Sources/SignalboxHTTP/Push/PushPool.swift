internal import NIOCore
internal import NIOPosix
public import SignalboxCore
internal import Synchronization

/// Connections to one endpoint for one sender and app.
///
/// Every request that is submitted gets exactly one result that is not late. A request is sent at the
/// latest six time-outs after it was submitted, while others are answered; one time-out after, if
/// none is. The request time-out runs from sending, so a slow peer means slow progress and not a wave
/// of time-outs.
///
/// After its time-out a request's stream stays open for as long again. An answer that comes then is
/// a second result, with `isLate`. Only an answer is: nothing tells that none came.
///
/// All work happens on one event loop; results are reported from there, those of one read together.
public final class PushPool: Sendable {
    private let core: PoolCore

    init(core: PoolCore) { self.core = core }

    /// Sends the requests of a batch.
    ///
    /// Thread: any.
    public func submit(_ batch: RequestBatch) {
        core.eventLoop.execute { self.core.submit(batch) }
    }

    /// Sends nothing more over a connection; it closes when what is open on it has ended.
    public func drain(connection: UInt64) {
        core.eventLoop.execute { self.core.drain(connection: connection) }
    }

    /// Gives back what waits for a stream, as `.withdrawn`.
    public func withdraw() {
        core.eventLoop.execute { self.core.withdraw() }
    }

    /// Takes other certificates for the connections to come; those that are open take nothing more and
    /// end what is on them.
    public func renew(_ endpoint: PushEndpoint) throws(EndpointError) {
        let tls = try PushTLS.context(endpoint)
        core.eventLoop.execute { self.core.renew(tls) }
    }

    /// The pool at this moment.
    public func status() async -> PushPoolStatus {
        await withCheckedContinuation { continuation in
            core.eventLoop.execute { continuation.resume(returning: self.core.status) }
        }
    }

    /// Ends the pool: what waits gets `.stopping`, what is in flight has until the deadline.
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
    /// By authority; a host has one for all its pools.
    private let gates = Mutex<[String: HostGate]>([:])

    /// Starts `threads` event loops; fails if the system has no descriptors or threads for them.
    public init(threads: Int) throws(ResourceError) {
        group = try EventLoops.group(threads: threads, name: "sbx-push")
        PipeSignal.settle(group)
    }

    /// Makes a pool; fails if the endpoint's certificates cannot be read. The error says whether it
    /// may work later.
    ///
    /// `onResults` and `onEvent` are called on the pool's event loop and must return soon.
    public func makePool(
        endpoint: PushEndpoint, onResults: @escaping @Sendable ([PushResult]) -> Void,
        onEvent: @escaping @Sendable (PushPoolEvent) -> Void
    ) throws(EndpointError) -> PushPool {
        let core = PoolCore(
            endpoint: endpoint, eventLoop: group.next(), tls: try PushTLS.context(endpoint),
            gate: gate(endpoint), onResults: onResults, onEvent: onEvent)
        return PushPool(core: core)
    }

    /// Ends the event loops; pools must have been shut down before.
    public func shutdown() async { try? await group.shutdownGracefully() }

    private func gate(_ endpoint: PushEndpoint) -> HostGate {
        gates.withLock { gates in
            let gate = gates[endpoint.authority] ?? HostGate()
            gates[endpoint.authority] = gate
            return gate
        }
    }
}
