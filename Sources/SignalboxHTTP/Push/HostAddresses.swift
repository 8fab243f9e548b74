internal import Dispatch
internal import Glibc
internal import NIOCore
internal import NIOPosix

/// Finds the addresses of a provider's host, and leaves out those at which the last handshake failed.
///
/// Of several addresses, the first to connect is used. Without this, an address that accepts connections and never
/// answers would be used again and again, and the others never.
///
/// Used only on its event loop; the system's resolver blocks, so it runs on threads of its own.
final class HostAddresses {
    private let eventLoop: any EventLoop
    private let system: (any Resolver & Sendable)?
    private var failed: [SocketAddress] = []

    init(_ eventLoop: any EventLoop, system: (any Resolver & Sendable)?) {
        self.eventLoop = eventLoop
        self.system = system
    }

    /// A handshake with this address failed.
    func failed(_ address: SocketAddress) {
        if !failed.contains(address) { failed.append(address) }
    }

    /// The host serves at this address.
    func served(_ address: SocketAddress) { failed.removeAll { $0 == address } }

    /// None of the remaining addresses accepted a connection: all are tried again.
    func noneConnected() { failed = [] }

    /// The resolver for one connect; nil for the system's. If no address remains, all are tried again.
    func resolver() -> (any Resolver & Sendable)? {
        guard !failed.isEmpty else { return system }
        return Query(system ?? SystemResolver(eventLoop), eventLoop, without: failed) {
            [weak self] in
            self?.failed = []
        }
    }

    /// One look-up, whose answers lack some addresses.
    ///
    /// `@unchecked Sendable`: it is used on its event loop alone.
    private final class Query: Resolver, @unchecked Sendable {
        private let inner: any Resolver & Sendable
        private let eventLoop: any EventLoop
        private let failed: [SocketAddress]
        private let onNoneLeft: () -> Void
        /// What both look-ups found, once they have.
        private var v6: EventLoopFuture<[SocketAddress]>?
        private var v4: EventLoopFuture<[SocketAddress]>?

        init(
            _ inner: any Resolver & Sendable, _ eventLoop: any EventLoop,
            without failed: [SocketAddress], onNoneLeft: @escaping () -> Void
        ) {
            (self.inner, self.eventLoop) = (inner, eventLoop)
            (self.failed, self.onNoneLeft) = (failed, onNoneLeft)
        }

        func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            start(host, port)
            return answer(own: v6)
        }

        func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            start(host, port)
            return answer(own: v4)
        }

        func cancelQueries() { inner.cancelQueries() }

        private func start(_ host: String, _ port: Int) {
            guard v4 == nil else { return }
            v6 = inner.initiateAAAAQuery(host: host, port: port).hop(to: eventLoop)
            v4 = inner.initiateAQuery(host: host, port: port).hop(to: eventLoop)
        }

        private func answer(
            own: EventLoopFuture<[SocketAddress]>?
        ) -> EventLoopFuture<[SocketAddress]> {
            guard let own, let v4, let v6 else { return eventLoop.makeSucceededFuture([]) }
            guard !failed.isEmpty else { return own }
            let empty: @Sendable (any Error) -> [SocketAddress] = { _ in [] }
            return v6.recover(empty).and(v4.recover(empty)).flatMap { both in
                let left = (both.0 + both.1).filter { !self.failed.contains($0) }
                if left.isEmpty { self.onNoneLeft() }
                return own.map { own in left.isEmpty ? own : own.filter { left.contains($0) } }
            }
        }
    }

    /// getaddrinfo, on a thread of the system's pool.
    private final class SystemResolver: Resolver, Sendable {
        private let v6: EventLoopPromise<[SocketAddress]>
        private let v4: EventLoopPromise<[SocketAddress]>

        init(_ eventLoop: any EventLoop) {
            (v6, v4) = (eventLoop.makePromise(), eventLoop.makePromise())
        }

        func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            DispatchQueue.global().async { [self] in
                let found = Self.look(host, port)
                v6.succeed(found.filter { $0.protocol == .inet6 })
                v4.succeed(found.filter { $0.protocol == .inet })
            }
            return v6.futureResult
        }

        func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
            v4.futureResult
        }

        func cancelQueries() {}

        private static func look(_ host: String, _ port: Int) -> [SocketAddress] {
            var hints = addrinfo()
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(host, String(port), &hints, &list) == 0 else { return [] }
            defer { freeaddrinfo(list) }
            var found: [SocketAddress] = []
            var next = list
            while let one = next?.pointee {
                next = one.ai_next
                guard let raw = UnsafeRawPointer(one.ai_addr) else { continue }
                switch one.ai_family {
                case AF_INET:
                    found.append(
                        SocketAddress(raw.loadUnaligned(as: sockaddr_in.self), host: host))
                case AF_INET6:
                    found.append(
                        SocketAddress(raw.loadUnaligned(as: sockaddr_in6.self), host: host))
                default: break
                }
            }
            return found
        }
    }
}
