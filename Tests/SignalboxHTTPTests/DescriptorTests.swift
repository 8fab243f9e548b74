import Foundation
import SignalboxCrypto
import Testing

@testable import SignalboxHTTP

#if canImport(Glibc)
    import Glibc
#endif

/// What happens when the system runs out of descriptors; each test has its own process.
@Suite(.timeLimit(.minutes(2))) struct DescriptorTests {
    /// Lets the process open this many more descriptors.
    static func allow(_ count: Int) {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = 512
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var opened: [Int32] = []
        while case let descriptor = open("/", O_RDONLY), descriptor >= 0 {
            opened.append(descriptor)
        }
        for descriptor in opened.suffix(count) { close(descriptor) }
    }

    @Test func `room is asked for before it is needed`() async {
        await #expect(processExitsWith: .success) {
            // The test runner itself may briefly use some.
            Self.allow(60)
            // The descriptors opened for the check are closed again.
            for _ in 0..<3 { try Descriptors.require(20) }
            let error = #expect(throws: ResourceError.self) { try Descriptors.require(61) }
            #expect(error?.message.contains("61 more file descriptors") == true)
            #expect(error?.message.contains("too many open files") == true)
            for _ in 0..<3 { try Descriptors.require(20) }
        }
    }

    @Test func `an engine without descriptors fails with words`() async {
        await #expect(processExitsWith: .success) {
            Self.allow(5)
            let error = #expect(throws: ResourceError.self) { try PushEngine(threads: 2) }
            #expect(error?.message.contains("too many open files") == true)
        }
    }

    @Test func `threads without memory for them fail with words`() async {
        await #expect(processExitsWith: .success) {
            try EventLoops.requireThreads(8)
            // A stack takes 8 MiB of address space.
            let status = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8)
            let pages = try #require(status.split(separator: " ").first.flatMap { Int($0) })
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            limit.rlim_cur = rlim_t(pages * 4096 + (40 << 20))
            setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
            let error = #expect(throws: ResourceError.self) {
                try EventLoops.requireThreads(64)
            }
            #expect(error?.message.contains("64 more threads") == true)
        }
    }

    @Test func `a CA file that cannot be opened is a fault with its reason`() async {
        await #expect(processExitsWith: .success) {
            let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            let authority = try ThrowAway.certificateAuthority(name: "test CA")
            try Data(authority.certificatePEM).write(to: file)
            var endpoint = try PushEndpoint(origin: "https://127.0.0.1:1")
            endpoint.caFile = file.path
            _ = try PushTLS.context(endpoint)
            Self.allow(0)
            let error = #expect(throws: EndpointError.self) { try PushTLS.context(endpoint) }
            #expect(error?.message.contains("too many open files") == true)
            #expect(error?.message.contains(file.path) == true)
        }
    }

    @Test func `a CA file that is missing or not PEM is a fault with its reason`() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        var endpoint = try PushEndpoint(origin: "https://127.0.0.1:1")
        endpoint.caFile = file.path
        let missing = #expect(throws: EndpointError.self) { try PushTLS.context(endpoint) }
        #expect(missing?.message.contains("no such file") == true)
        try Data("no certificate".utf8).write(to: file)
        let other = #expect(throws: EndpointError.self) { try PushTLS.context(endpoint) }
        #expect(other?.message.contains("not PEM") == true)
        endpoint.caFile = nil
        endpoint.clientCertificatePEM = Array("x".utf8)
        endpoint.clientKeyPEM = Array("y".utf8)
        let client = #expect(throws: EndpointError.self) { try PushTLS.context(endpoint) }
        #expect(client?.message.contains("client certificate") == true)
    }

    @Test func `connects without descriptors are tried again, and succeed later`() async {
        await #expect(processExitsWith: .success) {
            let rig = try await PushRig()
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            Self.allow(0)
            rig.submit(1...1)
            #expect(await rig.settle { $0.isFailing })
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            #expect(await rig.outcomes(1) == [1: "200"])
            let failures = rig.events.filter { $0.kind == .connectFailed }
            #expect(failures.first?.text.lowercased().contains("too many open files") == true)
            #expect(failures.count < 20)
            await rig.end()
        }
    }
}
