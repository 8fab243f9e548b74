import Foundation
import NIOCore
import PluginRig
import SignalboxCore
import SignalboxHTTP
import Testing

/// A provider whose name has several addresses, and one that moves.
@Suite(.timeLimit(.minutes(2))) struct PushAddressTests {
    /// An IPv6 port whose queue of connections is full: a connect gets no answer.
    private final class Silence {
        private var descriptors: [Int32] = []
        let port: Int

        init() throws {
            let listener = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_addr = in6addr_loopback
            var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) + listen(listener, 0)
                        + getsockname(listener, $0, &length)
                }
            }
            guard status == 0 else { throw PluginRig.Failure(description: "cannot listen") }
            port = Int(UInt16(bigEndian: address.sin6_port))
            descriptors.append(listener)
            for _ in 0..<3 {
                let client = socket(
                    AF_INET6, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
                withUnsafePointer(to: &address) { pointer in
                    pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        _ = connect(client, $0, length)
                    }
                }
                descriptors.append(client)
            }
        }

        deinit { for descriptor in descriptors { close(descriptor) } }
    }

    @Test(arguments: [true, false])
    func `a host with an address that refuses, or does not answer, is reached at the other one`(
        isSilent: Bool
    ) async throws {
        let silence = try Silence()
        let port = isSilent ? silence.port : try OwnPort.take()
        let first = try SocketAddress(ipAddress: "::1", port: port)
        let rig = try await PushRig(firstAddress: first)
        rig.submit(1...3)
        #expect(await rig.outcomes(3) == [1: "200", 2: "200", 3: "200"])
        // Not only until the other connect has been given up.
        try await Task.sleep(for: .milliseconds(isSilent ? 400 : 50))
        rig.submit(4...6)
        #expect(await rig.outcomes(6).values.allSatisfy { $0 == "200" })
        #expect(rig.events.map(\.kind) == [.connected])
        await rig.end()
        withExtendedLifetime(silence) {}
    }

    @Test func `an address that failed once has its turn again when no other takes connections`()
        async throws
    {
        // At the first address nobody listens; the other one fails once.
        let first = try SocketAddress(ipAddress: "::1", port: OwnPort.take())
        let rig = try await PushRig([.drop], firstAddress: first)
        rig.submit(1...1)
        #expect(await rig.outcomes(1) == [1: "lost"])
        rig.submit(2...2)
        #expect(await rig.outcomes(2)[2] == "200")
        await rig.end()
    }

    @Test(arguments: [true, false])
    func `behind an address whose handshakes fail the others have their turn`(
        isSilent: Bool
    ) async throws {
        // It takes connections, and answers nothing or resets them.
        let listener = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_addr = in6addr_loopback
        var length = socklen_t(MemoryLayout<sockaddr_in6>.size)
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) + listen(listener, 64)
                    + getsockname(listener, $0, &length)
            }
        }
        #expect(status == 0)
        let port = Int(UInt16(bigEndian: address.sin6_port))
        if !isSilent {
            Thread.detachNewThread {
                while case let one = accept(listener, nil, nil), one >= 0 { close(one) }
            }
        }
        let first = try SocketAddress(ipAddress: "::1", port: port)
        let rig = try await PushRig(firstAddress: first) {
            $0.connectTimeoutMs = isSilent ? 300 : 30_000
        }
        rig.submit(1...3)
        #expect(await rig.outcomes(3) == [1: "200", 2: "200", 3: "200"])
        let failed = rig.events.filter { $0.kind == .connectFailed }
        #expect(failed.count == 1 && failed[0].text.contains("(::1)"))
        await rig.end()
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    @Test func `requests go to the new endpoint, and those under way are answered by the old one`()
        async throws
    {
        let old = try await PushRig([.hold])
        let new = try await PushRig()
        old.submit(1...1)
        while old.handler.seen.isEmpty { await Task.yield() }
        var endpoint = try PushEndpoint(origin: "https://127.0.0.1:\(new.server.port)")
        endpoint.caFile = old.caFile
        endpoint.requestTimeoutMs = 120_000
        try old.pool.renew(endpoint)
        old.submit(2...3)
        #expect(await old.outcomes(2) == [2: "200", 3: "200"])
        #expect(Set(new.handler.paths) == ["/2", "/3"])
        #expect(new.handler.seen.allSatisfy { $0.authority == "127.0.0.1:\(new.server.port)" })
        old.handler.release()
        #expect(await old.outcomes(3)[1] == "200")
        #expect(old.handler.paths == ["/1"])
        await new.end()
        await old.end()
    }

    @Test func `a dead endpoint that is replaced holds nothing up`() async throws {
        let silence = try Silence()
        let rig = try await PushRig {
            $0.host = "::1"
            $0.port = silence.port
            $0.connectTimeoutMs = 100_000
        }
        rig.submit(1...2)
        while await rig.pool.status().connecting == 0 { await Task.yield() }
        var endpoint = try PushEndpoint(origin: "https://127.0.0.1:\(rig.server.port)")
        endpoint.caFile = rig.caFile
        try rig.pool.renew(endpoint)
        #expect(await rig.outcomes(2) == [1: "withdrawn", 2: "withdrawn"])
        rig.submit(3...4)
        #expect(await rig.outcomes(4).filter { $0.key > 2 } == [3: "200", 4: "200"])
        // What became of the old one is no fault of the new one.
        #expect(rig.events.map(\.kind) == [.connected])
        await rig.end()
        withExtendedLifetime(silence) {}
    }

    @Test func `a pool stops while it connects`() async throws {
        let silence = try Silence()
        let rig = try await PushRig {
            $0.host = "::1"
            $0.port = silence.port
            $0.connectTimeoutMs = 100_000
        }
        rig.submit(1...1)
        while await rig.pool.status().connecting == 0 { await Task.yield() }
        await rig.end()
        #expect(await rig.outcomes(1) == [1: "stopping"])
        withExtendedLifetime(silence) {}
    }

    @Test func `a peer that resets connections as soon as it has them is tried again and again`()
        async throws
    {
        let peer = try Resetting()
        let rig = try await PushRig { $0.port = peer.port }
        rig.submit(1...1)
        // A failure that is not reported would be the last one.
        while rig.events.count(where: { $0.kind == .connectFailed }) < 6 { await Task.yield() }
        await rig.end()
        #expect(await rig.outcomes(1) == [1: "stopping"])
    }

    /// Accepts, and resets at once.
    private final class Resetting {
        private let listener: Int32
        let port: Int

        init() throws {
            let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let status = withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) + listen(listener, 64)
                        + getsockname(listener, $0, &length)
                }
            }
            guard status == 0 else { throw PluginRig.Failure(description: "cannot listen") }
            port = Int(UInt16(bigEndian: address.sin_port))
            self.listener = listener
            Thread.detachNewThread {
                while true {
                    let one = accept(listener, nil, nil)
                    guard one >= 0 else { return }
                    var now = linger(l_onoff: 1, l_linger: 0)
                    setsockopt(
                        one, SOL_SOCKET, SO_LINGER, &now, socklen_t(MemoryLayout<linger>.size))
                    close(one)
                }
            }
        }

        deinit {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }
    }
}
