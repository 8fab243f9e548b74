import Foundation
import NIOCore
import PluginRig
import SignalboxCrypto

@testable import SignalboxHTTP

/// A server that does the handshake and sends its SETTINGS; a test writes everything else, byte by byte.
final class RawPeer: Sendable {
    private let listener: Int32
    let port: Int

    init() throws {
        // A small buffer, so that it is soon full.
        let listening = try LoopbackListener(backlog: 8, receiveBytes: 4_096)
        (listener, port) = (listening.descriptor, listening.port)
    }

    func end() { close(listener) }

    /// Takes the next connection; `settings` is the whole frame.
    func serve<Value: Sendable>(
        settings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0],
        _ work: @escaping @Sendable (RawLine) throws -> Value
    ) async throws -> Value {
        try await Tool.aside { [self] in
            let descriptor = accept(listener, nil, nil)
            defer { close(descriptor) }
            let identity = try ThrowAway.serverIdentity(authority: PushRig.authority.get())
            let line = RawLine(
                session: try TLSSession(server: TLSRig.server(identity)), descriptor: descriptor)
            try line.shakeHands()
            try line.session.write(ByteBuffer(bytes: settings))
            _ = line.send()
            return try work(line)
        }
    }
}

/// A connection of a `RawPeer`.
final class RawLine {
    let session: TLSSession
    private let descriptor: Int32
    private var plain = ByteBuffer()
    private var isPreface = true

    fileprivate init(session: TLSSession, descriptor: Int32) {
        (self.session, self.descriptor) = (session, descriptor)
    }

    fileprivate func shakeHands() throws {
        var state = session.handshake()
        while state == .pending {
            _ = send()
            guard receive() else { throw PluginRig.Failure(description: "no handshake") }
            state = session.handshake()
        }
        _ = send()
        if case .failed(let fault) = state { throw fault }
    }

    /// Gives the session what the peer sent next; false at its end.
    private func receive() -> Bool {
        var room = [UInt8](repeating: 0, count: 4_096)
        let count = recv(descriptor, &room, room.count, 0)
        guard count > 0 else { return false }
        session.receive(ByteBuffer(bytes: room[..<count]))
        return true
    }

    /// Reads frames until one of this type is there; false if the peer closes first.
    func read(until type: UInt8) -> Bool {
        while true {
            while case .some = session.read(into: &plain) {}
            if isPreface, plain.readableBytes >= 24 {
                plain.moveReaderIndex(forwardBy: 24)
                isPreface = false
            }
            while !isPreface, let head = plain.getBytes(at: plain.readerIndex, length: 9) {
                let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
                guard plain.readableBytes >= 9 + length else { break }
                plain.moveReaderIndex(forwardBy: 9 + length)
                if head[3] == type { return true }
            }
            guard receive() else { return false }
        }
    }

    /// Sends what the session has; the number of bytes, or 0 if nothing could be sent.
    func send() -> Int {
        guard let buffer = session.takeOutgoing() else { return 0 }
        return buffer.withUnsafeReadableBytes { bytes in
            var start = 0
            while start < bytes.count {
                let count = Foundation.send(
                    descriptor, bytes.baseAddress.map { $0 + start }, bytes.count - start,
                    Int32(MSG_NOSIGNAL))
                guard count > 0 else { return 0 }
                start += count
            }
            return start
        }
    }
}
