import COpenSSL
import Foundation
import NIOCore
import PluginRig
import SignalboxCrypto
import Testing

@testable import SignalboxHTTP

/// Peers that provoke endless answers and read none of them.
@Suite(.timeLimit(.minutes(10))) struct FloodTests {
    enum Flood: CaseIterable { case ping, settings, keyUpdate }

    @Test(arguments: Flood.allCases)
    func `a peer that floods a connection and reads nothing is closed, and the log says why`(
        flood: Flood
    ) async throws {
        let peer = try FloodingPeer()
        let rig = try await PushRig { $0.port = peer.port }
        rig.submit(1...1)
        let sent = try await peer.flood(flood)
        // The system buffers a few megabytes per socket at most.
        #expect(sent < FloodingPeer.bytesMax, "\(sent) bytes were taken and answered")
        let isClosed = await rig.settle { _ in rig.events.contains { $0.kind == .closed } }
        let event = rig.events.first { $0.kind == .closed }
        #expect(isClosed && event?.text.contains("reads no answers") == true, "\(rig.events)")
        peer.end()
        await rig.end()
    }
}

/// A server that does the handshake, sends its SETTINGS, then sends as told, without reading.
private final class FloodingPeer: Sendable {
    static let bytesMax = 24 << 20

    private let listener: Int32
    let port: Int

    init() throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        // A small buffer, so that it is soon full.
        var room: Int32 = 4_096
        setsockopt(
            listener, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let status = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) + listen(descriptor, 8)
                    + getsockname(descriptor, $0, &length)
            }
        }
        guard status == 0 else { throw PluginRig.Failure(description: "cannot listen") }
        port = Int(UInt16(bigEndian: address.sin_port))
    }

    func end() { close(listener) }

    /// Floods the next connection until it is closed or took far too much.
    ///
    /// Returns the number of bytes.
    func flood(_ flood: FloodTests.Flood) async throws -> Int {
        try await Tool.aside { [self] in
            let descriptor = accept(listener, nil, nil)
            defer { close(descriptor) }
            let identity = try ThrowAway.serverIdentity(authority: PushRig.authority.get())
            let session = try TLSSession(server: TLSRig.server(identity))
            try shakeHands(session, descriptor)
            // An empty SETTINGS frame.
            try session.write(ByteBuffer(bytes: [0, 0, 0, 4, 0, 0, 0, 0, 0]))
            var sent = 0
            while sent < Self.bytesMax {
                switch flood {
                case .ping: try session.write(Self.frames([0, 0, 8, 6, 0, 0, 0, 0, 0], 8))
                case .settings: try session.write(Self.frames([0, 0, 0, 4, 0, 0, 0, 0, 0], 0))
                case .keyUpdate:
                    // Each one is a small record: one by one they would take
                    // minutes on a busy machine.
                    for _ in 0..<500 {
                        SSL_key_update(session.pointer, SSL_KEY_UPDATE_REQUESTED)
                        _ = session.handshake()
                    }
                }
                guard let bytes = session.takeOutgoing(), Self.send(bytes, descriptor) else {
                    break
                }
                sent += bytes.readableBytes
            }
            return sent
        }
    }

    /// Fewer frames than a session counts as a flood when it reads them at once.
    private static func frames(_ head: [UInt8], _ body: Int) -> ByteBuffer {
        let frame = head + Array(repeating: 0, count: body)
        return ByteBuffer(bytes: (0..<200).flatMap { _ in frame })
    }

    private func shakeHands(_ session: TLSSession, _ descriptor: Int32) throws {
        var state = session.handshake()
        while state == .pending {
            if let bytes = session.takeOutgoing() { _ = Self.send(bytes, descriptor) }
            var room = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &room, room.count, 0)
            guard count > 0 else { throw PluginRig.Failure(description: "no handshake") }
            session.receive(ByteBuffer(bytes: room[..<count]))
            state = session.handshake()
        }
        if let bytes = session.takeOutgoing() { _ = Self.send(bytes, descriptor) }
        if case .failed(let fault) = state { throw fault }
    }

    private static func send(_ buffer: ByteBuffer, _ descriptor: Int32) -> Bool {
        buffer.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                let count = Foundation.send(
                    descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start,
                    Int32(MSG_NOSIGNAL))
                guard count > 0 else { return false }
                start += count
            }
            return true
        }
    }
}
