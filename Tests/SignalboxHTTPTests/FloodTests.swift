import COpenSSL
import NIOCore
import Testing

@testable import SignalboxHTTP

/// Peers that provoke endless answers and read none of them.
@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    enum Flood: CaseIterable { case ping, settings, keyUpdate }
    static let bytesMax = 24 << 20

    @Test(arguments: Flood.allCases)
    func `a peer that floods a connection and reads nothing is closed, and the log says why`(
        flood: Flood
    ) async throws {
        let peer = try RawPeer()
        let rig = try await PushRig { $0.port = peer.port }
        rig.submit(1...1)
        let sent = try await peer.serve { try Self.flood(flood, $0) }
        // The system buffers a few megabytes per socket at most.
        #expect(sent < Self.bytesMax, "\(sent) bytes were taken and answered")
        let isClosed = await rig.settle { _ in rig.events.contains { $0.kind == .closed } }
        let event = rig.events.first { $0.kind == .closed }
        #expect(isClosed && event?.text.contains("reads no answers") == true, "\(rig.events)")
        peer.end()
        await rig.end()
    }

    /// Floods the connection until it is closed or took far too much.
    ///
    /// Returns the number of bytes.
    private static func flood(_ flood: Flood, _ line: RawLine) throws -> Int {
        var sent = 0
        while sent < bytesMax {
            switch flood {
            case .ping: try line.session.write(frames([0, 0, 8, 6, 0, 0, 0, 0, 0], 8))
            case .settings: try line.session.write(frames([0, 0, 0, 4, 0, 0, 0, 0, 0], 0))
            case .keyUpdate:
                // Each one is a small record: one by one they would take
                // minutes on a busy machine.
                for _ in 0..<500 {
                    SSL_key_update(line.session.pointer, SSL_KEY_UPDATE_REQUESTED)
                    _ = line.session.handshake()
                }
            }
            let count = line.send()
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Fewer frames than a session counts as a flood when it reads them at once.
    private static func frames(_ head: [UInt8], _ body: Int) -> ByteBuffer {
        let frame = head + Array(repeating: 0, count: body)
        return ByteBuffer(bytes: (0..<200).flatMap { _ in frame })
    }
}
