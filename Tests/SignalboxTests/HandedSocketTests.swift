import Foundation
import Testing

@testable import Signalbox
@testable import SignalboxGateway

/// Sockets that a service manager hands over, in descriptors that begin at a number of the test's own.
@Suite struct HandedSocketTests {
    /// Copies a listening socket to consecutive descriptors.
    private func listeners(_ count: Int32, from first: Int32) throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(listener) }
        // Without an address it gets a free port.
        try #require(listen(listener, 8) == 0)
        for index in 0..<count { try #require(dup2(listener, first + index) == first + index) }
    }

    private func sockets(
        _ count: Int, names: String? = nil, process: Int32 = 7, first: Int32
    ) throws -> HandedSockets {
        var variables = ["LISTEN_PID": "7", "LISTEN_FDS": "\(count)"]
        variables["LISTEN_FDNAMES"] = names
        return try HandedSockets(variables, process: process, first: first)
    }

    @Test func `the one that is named admin is the admin listener's`() throws {
        try listeners(2, from: 700)
        defer { for descriptor in Int32(700)...701 { close(descriptor) } }
        let alone = try sockets(1, first: 700)
        #expect(alone.listen != nil && alone.admin == nil)
        #expect(try sockets(1, names: "signalbox.socket", first: 700).listen != nil)
        let both = try sockets(2, names: "admin:listen", first: 700)
        #expect(both.listen != nil && both.admin != nil)
        #expect(alone.listen.map(HandedSockets.address)?.host == "0.0.0.0")
    }

    @Test func `those of another process are left alone`() throws {
        #expect(try sockets(1, process: 8, first: 710).isEmpty)
        #expect(try HandedSockets([:]).isEmpty)
        #expect(try HandedSockets(["LISTEN_FDS": "1"]).isEmpty)
    }

    @Test func `what cannot be used is named, with the fix`() throws {
        try listeners(2, from: 720)
        defer { for descriptor in Int32(720)...721 { close(descriptor) } }
        #expect {
            _ = try sockets(2, names: "a:b", first: 720)
        } throws: {
            "\($0)".contains(
                "two sockets for gateway.listen; one for each, with FileDescriptorName=")
        }
        #expect {
            _ = try sockets(1, names: "web", first: 730)
        } throws: {
            "\($0)".contains("descriptor 730 (\"web\") is no TCP socket that listens")
        }
    }
}
