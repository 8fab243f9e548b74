internal import CLinux
internal import Glibc
internal import SignalboxThreads

/// Messages over a stream socket, both ways. A sender never waits for the peer, unless it asks to:
/// bytes that the socket has no room for are kept, and the reading thread sends them.
final class WireChannel: Sendable {
    /// Most bytes kept for a peer that does not read.
    private static let keptBytesMax = 2 * Wire.bytesMax
    /// `waitForRoom` blocks while at least this many bytes are kept.
    private static let crowdedBytes = 1 << 20
    private static let chunkBytes = 64 * 1024

    private struct Out {
        var kept: [UInt8] = []
        var sent = 0
        var isClosed = false

        var keptCount: Int { kept.count - sent }
    }

    private let socket: Int32
    /// Wakes the reading thread when there are kept bytes to send.
    private let bell: Int32
    /// Can be read once the peer's process has ended; -1: not known.
    private let peerEnd: Int32
    private let out = Gate(Out())

    /// Takes ownership of a socket, and of a descriptor that can be read once the peer's process has ended: its end of the
    /// socket may stay open in a process that it has started.
    init(socket: Int32, peerEnd: Int32 = -1) {
        self.socket = socket
        self.peerEnd = peerEnd
        bell = linux_bell()
    }

    deinit {
        Glibc.close(socket)
        Glibc.close(bell)
        if peerEnd >= 0 { Glibc.close(peerEnd) }
    }

    /// Closes the channel: the reading thread returns, and nothing more is sent.
    func close() {
        out.updateAll { $0.isClosed = true }
        shutdown(socket, Int32(SHUT_RDWR))
    }

    /// Sends a message. False if the peer is gone, or reads so slowly that too many bytes are kept.
    func send(_ message: WireWriter) -> Bool {
        let bytes = message.bytes
        let (isSent, rings) = out.update { out -> (Bool, Bool) in
            guard !out.isClosed else { return (false, false) }
            var rest = bytes[...]
            if out.keptCount == 0 {
                let count = linux_send_now(socket, bytes.baseAddress, bytes.count)
                guard count > -2 else { return (false, false) }
                rest = rest.dropFirst(max(0, count))
            }
            guard !rest.isEmpty else { return (true, false) }
            guard out.keptCount + rest.count <= Self.keptBytesMax else {
                out.isClosed = true
                return (false, false)
            }
            out.kept.append(contentsOf: rest)
            return (true, true)
        }
        if rings {
            var one: UInt64 = 1
            _ = write(bell, &one, 8)
        }
        if !isSent { shutdown(socket, Int32(SHUT_RDWR)) }
        return isSent
    }

    /// Blocks while too many bytes are kept, as backpressure on a plugin that sends too fast.
    ///
    /// Thread: any but the reading thread.
    func waitForRoom() {
        out.wait(for: { $0.keptCount < Self.crowdedBytes || $0.isClosed ? () : nil })
    }

    /// Reads messages until the peer is gone; throws if one is malformed.
    ///
    /// Thread: one, which it blocks.
    func read(_ handle: (WireFrame) throws(WireFault) -> Void) throws(WireFault) {
        let chunk = UnsafeMutableRawPointer.allocate(byteCount: Self.chunkBytes, alignment: 16)
        defer { chunk.deallocate() }
        var used = 0
        var open: (frame: WireFrame, filled: Int)?
        var isDrained = true
        var hasEnded = false
        while true {
            if isDrained {
                // What it sent before is read first.
                if hasEnded { return }
                hasEnded = wait()
            }
            let target = open.map { $0.frame.start + $0.filled } ?? chunk + used
            let room = open.map { $0.frame.count - $0.filled } ?? Self.chunkBytes - used
            let count = linux_receive_now(socket, target, room)
            isDrained = count < room
            if count == -1 { continue }
            guard count > 0 else { return }
            if let (frame, filled) = open {
                open = filled + count < frame.count ? (frame, filled + count) : nil
                if open == nil { try handle(frame) }
                continue
            }
            used += count
            open = try Self.take(chunk, &used, handle)
        }
    }

    /// Takes whole messages from the front of a chunk. Returns the frame of a message that is still incomplete.
    private static func take(
        _ chunk: UnsafeMutableRawPointer, _ used: inout Int,
        _ handle: (WireFrame) throws(WireFault) -> Void
    ) throws(WireFault) -> (frame: WireFrame, filled: Int)? {
        var at = 0
        var open: (WireFrame, Int)?
        while open == nil, used - at >= Wire.headBytes {
            let head = chunk + at
            let count = Int(head.loadUnaligned(as: UInt32.self))
            guard count <= Wire.bytesMax else {
                throw WireFault("it claims to have \(count) bytes")
            }
            let frame = WireFrame(
                method: head.loadUnaligned(fromByteOffset: 4, as: UInt16.self),
                kind: head.loadUnaligned(fromByteOffset: 6, as: UInt16.self),
                call: head.loadUnaligned(fromByteOffset: 8, as: UInt64.self), count: count)
            let there = min(count, used - at - Wire.headBytes)
            frame.start.copyMemory(from: head + Wire.headBytes, byteCount: there)
            at += Wire.headBytes + there
            if there == count { try handle(frame) } else { open = (frame, there) }
        }
        used -= at
        if at > 0, used > 0 { memmove(chunk, chunk + at, used) }
        return open
    }

    /// Blocks until there is something to read, and sends kept bytes meanwhile. Returns whether the peer's process has ended.
    private func wait() -> Bool {
        while true {
            let hasMore = out.wait(for: { $0.keptCount > 0 })
            var entries = [
                pollfd(fd: socket, events: Int16(POLLIN | (hasMore ? POLLOUT : 0)), revents: 0),
                pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
                pollfd(fd: peerEnd, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&entries, 3, -1) > 0 else { continue }
            if entries[1].revents != 0 {
                var rung: UInt64 = 0
                _ = Glibc.read(bell, &rung, 8)
            }
            if hasMore, entries[0].revents & Int16(POLLOUT) != 0 { sendOn() }
            if entries[2].revents != 0 { return true }
            if entries[0].revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 { return false }
        }
    }

    private func sendOn() {
        out.updateAll { out in
            let count = out.kept.withUnsafeBytes { bytes -> Int in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[out.sent...])
                return linux_send_now(socket, rest.baseAddress, rest.count)
            }
            out.sent += max(0, count)
            // The next read notices if the peer is gone.
            if out.keptCount == 0 || count < -1 {
                out.kept = []
                out.sent = 0
            }
        }
    }
}
