internal import NIOCore
public import SignalboxCore
internal import Synchronization

/// Connections to one endpoint, for one sender and app.
///
/// Pools of one owner with the same endpoint share their connections; requests are sent in the order in which they were
/// submitted.
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
    /// Where it sends now.
    private struct Place: Sendable {
        var key: PoolKey
        var core: PoolCore
        var client: PoolClient
        var isShut = false
    }

    /// Which proxy its connections go through.
    public let proxies: ProxyRules
    private let cores: PoolCores
    private let owner: any AnyObject & Sendable
    private let onEvent: @Sendable (PushPoolEvent) -> Void
    private let place: Mutex<Place>

    init(
        _ endpoint: PushEndpoint, _ client: PoolClient, owner: any AnyObject & Sendable,
        in cores: PoolCores, onEvent: @escaping @Sendable (PushPoolEvent) -> Void
    ) throws(EndpointError) {
        self.cores = cores
        self.owner = owner
        self.onEvent = onEvent
        proxies = endpoint.proxies
        let key = PoolKey(endpoint, owner: owner)
        let core = try cores.join(key, onEvent: onEvent)
        place = Mutex(Place(key: key, core: core, client: client))
    }

    deinit {
        let place = place.withLock { $0 }
        if !place.isShut { leave(place, as: .stopping, deadlineMs: 0) }
    }

    /// Sends the requests of a batch.
    ///
    /// Thread: any.
    public func submit(_ batch: RequestBatch) { execute { $0.submit(batch, from: $1) } }

    /// Sends nothing more on a connection; it closes when its open requests have ended.
    ///
    /// Connections to one host are left at a bounded rate, the same as that of failed connects: above it the connection stays.
    public func leave(connection: UInt64) {
        execute { core, _ in core.leave(connection: connection) }
    }

    /// Returns requests that wait for a stream, as `.withdrawn`.
    public func withdraw() { execute { $0.withdraw($1) } }

    /// Connects to this endpoint from now on, with its certificates as they are now: waiting requests come back as
    /// `.withdrawn`, and open connections finish what they have.
    ///
    /// Of pools that share connections, the first one to be renewed after `PushEngine.outdate` opens new ones.
    public func renew(_ endpoint: PushEndpoint) throws(EndpointError) {
        let key = PoolKey(endpoint, owner: owner)
        if owner is OneOwner { cores.outdate(of: owner) }
        let old = try place.withLock { place throws(EndpointError) -> Place? in
            guard !place.isShut, place.key != key || !cores.isCurrent(key, place.core) else {
                return nil
            }
            let (old, core) = (place, try cores.join(key, onEvent: onEvent))
            place = Place(key: key, core: core, client: old.client.successor)
            return old
        }
        if let old { leave(old, as: .withdrawn, deadlineMs: nil) }
    }

    /// The current status of its connections.
    public func status() async -> PushPoolStatus {
        await withCheckedContinuation { continuation in
            execute { core, _ in continuation.resume(returning: core.status) }
        }
    }

    /// Shuts the pool down: waiting requests get `.stopping`, those in flight have until the deadline.
    ///
    /// It waits neither for late answers nor for connections that answer nothing.
    public func shutdown(deadlineMs: Int) async {
        let place = place.withLock { place -> Place? in
            guard !place.isShut else { return nil }
            place.isShut = true
            return place
        }
        guard let place else { return }
        await withCheckedContinuation { continuation in
            leave(place, as: .stopping, deadlineMs: deadlineMs) { continuation.resume() }
        }
    }

    private func execute(_ work: @escaping @Sendable (PoolCore, PoolClient) -> Void) {
        let (core, client) = place.withLock { ($0.core, $0.client) }
        core.eventLoop.execute { work(core, client) }
    }

    private func leave(
        _ place: Place, as refusal: TransportFault, deadlineMs: Int?,
        done: @escaping @Sendable () -> Void = {}
    ) {
        let isLast = cores.leave(place.key, place.core)
        let (core, client) = (place.core, place.client)
        core.eventLoop.execute {
            core.leave(client, as: refusal, isLast: isLast, deadlineMs: deadlineMs, done: done)
        }
    }
}
