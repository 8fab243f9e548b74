import NIOCore
import SignalboxCore
import Testing

@testable import SignalboxHTTP

/// Peers that answer before they have read the request, and peers that break HTTP/2.
@Suite(.timeLimit(.minutes(2))) struct EarlyAnswerTests {
    @Test func `an answer counts although the request's body is never read`() async throws {
        let peer = try RawPeer()
        // Far longer than the test may take.
        let rig = try await PushRig { $0.port = peer.port }
        rig.submit(1...1)
        // SETTINGS_INITIAL_WINDOW_SIZE is 0, and never more.
        let windowless: [UInt8] = [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]
        let isReset = try await peer.serve(settings: windowless) { line in
            guard line.read(until: 1) else { return false }
            // HEADERS that end the stream, with `:status: 503` of a literal.
            let block: [UInt8] = [0x08, 3] + Array("503".utf8)
            try line.session.write(
                ByteBuffer(bytes: [0, 0, UInt8(block.count), 1, 5, 0, 0, 0, 1] + block))
            _ = line.send()
            // The stream is free for the next request.
            return line.read(until: 3)
        }
        #expect(isReset)
        #expect(await rig.outcomes(1) == [1: "503"])
        #expect(await rig.settle { $0.inFlight == 0 })
        peer.end()
        await rig.end()
    }

    @Test func `the log says that the peer broke HTTP/2, not that it closed`() async throws {
        let peer = try RawPeer()
        let rig = try await PushRig { $0.port = peer.port }
        rig.submit(1...1)
        let isOver = try await peer.serve { line in
            guard line.read(until: 1) else { return false }
            // A PING of 7 bytes.
            try line.session.write(
                ByteBuffer(bytes: [0, 0, 7, 6, 0, 0, 0, 0, 0] + Array(repeating: 0, count: 7)))
            _ = line.send()
            return line.read(until: 7)
        }
        #expect(isOver)
        let isClosed = await rig.settle { _ in rig.events.contains { $0.kind == .closed } }
        let event = rig.events.first { $0.kind == .closed }
        #expect(isClosed && event?.text.contains("violated") == true, "\(rig.events)")
        peer.end()
        await rig.end()
    }
}
