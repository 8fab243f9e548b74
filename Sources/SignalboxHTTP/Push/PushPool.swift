internal import NIOCore
internal import NIOPosix
internal import NIOSSL
public import SignalboxCore

/// Connections to one endpoint for one sender and app.
///
/// Every request that is submitted gets exactly one result, at the latest when its time is up. All
/// work happens on one event loop; results are reported from there, those of one read together.
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
        let tls = try PushEngine.tls(endpoint)
        core.eventLoop.execute { self.core.renew(tls) }
    }

    /// The pool at this moment.
    public func status() async -> PushPoolStatus {
        await withCheckedContinuation { continuation in
            core.eventLoop.execute { continuation.resume(returning: self.core.status) }
        }
    }

    /// Ends the pool: what waits gets `.stopping`, what is in flight has until the deadline.
    public func shutdown(deadlineMs: Int) async {
        let done = core.eventLoop.makePromise(of: Void.self)
        core.eventLoop.execute { self.core.stop(deadlineMs: deadlineMs, done: done) }
        try? await done.futureResult.get()
    }
}

/// The event loops that pools run on.
public final class PushEngine: Sendable {
    private let group: MultiThreadedEventLoopGroup

    /// Starts `threads` event loops.
    public init(threads: Int) {
        group = MultiThreadedEventLoopGroup(numberOfThreads: threads)
        PipeSignal.settle(group)
    }

    /// Makes a pool; fails if the endpoint's certificates cannot be read.
    ///
    /// `onResults` and `onEvent` are called on the pool's event loop and must return soon.
    public func makePool(
        endpoint: PushEndpoint, onResults: @escaping @Sendable ([PushResult]) -> Void,
        onEvent: @escaping @Sendable (PushPoolEvent) -> Void
    ) throws(EndpointError) -> PushPool {
        let core = PoolCore(
            endpoint: endpoint, eventLoop: group.next(), tls: try Self.tls(endpoint),
            onResults: onResults, onEvent: onEvent)
        return PushPool(core: core)
    }

    /// Ends the event loops; pools must have been shut down before.
    public func shutdown() async { try? await group.shutdownGracefully() }

    static func tls(_ endpoint: PushEndpoint) throws(EndpointError) -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        do {
            if let file = endpoint.caFile { configuration.trustRoots = .file(file) }
            if let chain = endpoint.clientCertificatePEM, let key = endpoint.clientKeyPEM {
                configuration.certificateChain = try NIOSSLCertificate.fromPEMBytes(chain)
                    .map { .certificate($0) }
                configuration.privateKey = .privateKey(
                    try NIOSSLPrivateKey(bytes: key, format: .pem))
            }
            return try NIOSSLContext(configuration: configuration)
        } catch {
            let what = endpoint.caFile.map { "CA file \($0)" } ?? "client certificate"
            throw EndpointError(message: "the \(what) cannot be used: it is missing or not PEM")
        }
    }
}
