import Logging
import NIOCore
import NIOEmbedded
import PluginRig
import SignalboxCore
import SignalboxCrypto
import Testing

@testable import SignalboxHTTP

/// The handler in a channel, in virtual time.
@Suite struct TLSHandlerTests {
    /// Records what the handler passes on.
    private final class Behind: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        var text = ""
        var alpn: String??
        var faults: [TLSFault] = []
        var inputEnds = 0
        var readsDone = 0

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            text += String(buffer: unwrapInboundIn(data))
        }
        func channelReadComplete(context: ChannelHandlerContext) { readsDone += 1 }
        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if let done = event as? TLSHandshakeDone { alpn = .some(done.alpn) }
            if case ChannelEvent.inputClosed? = event as? ChannelEvent { inputEnds += 1 }
        }
        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            if let fault = error as? TLSFault { faults.append(fault) }
        }
    }

    /// `@unchecked Sendable`: an embedded loop runs on the test's thread.
    final class Ending: @unchecked Sendable { var value = "" }

    /// A channel with the client's end, and a server in memory.
    private struct Rig {
        let channel = EmbeddedChannel()
        let behind = Behind()
        let server: TLSEnd

        init(isHalfClosable: Bool = false) throws {
            let made = try TLSRig()
            server = made.server
            try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: isHalfClosable)
            try channel.pipeline.syncOperations.addHandlers(
                TLSHandler(made.client.session), behind)
            channel.connect(
                to: try SocketAddress(ipAddress: "127.0.0.1", port: 1), promise: nil)
        }

        /// Passes what the channel has sent to the server.
        func toServer() throws {
            while let bytes = try channel.readOutbound(as: ByteBuffer.self) {
                server.receive(bytes)
            }
        }

        func toClient(_ bytes: ByteBuffer?) throws {
            if let bytes { try channel.writeInbound(bytes) }
        }

        /// How a promise has ended so far.
        func ending(of future: EventLoopFuture<Void>) -> Ending {
            let ending = Ending()
            future.whenComplete { result in
                switch result {
                case .success: ending.value = "done"
                case .failure(let error): ending.value = "\(error)"
                }
            }
            channel.embeddedEventLoop.run()
            return ending
        }

        func shakeHands() throws {
            try toServer()
            try toClient(server.session.takeOutgoing())
            try toServer()
            try toClient(server.session.takeOutgoing())
        }
    }

    @Test func `text goes both ways once hands are shaken`() throws {
        let rig = try Rig()
        let early = rig.ending(of: rig.channel.writeAndFlush(ByteBuffer(string: "early")))
        #expect(early.value == "\(ChannelError.ioOnClosedChannel)")
        try rig.shakeHands()
        #expect(rig.behind.alpn == "h2")
        rig.channel.writeAndFlush(ByteBuffer(string: "there"), promise: nil)
        try rig.toServer()
        #expect(rig.server.text == "there")
        try rig.server.write("back")
        let before = rig.behind.readsDone
        try rig.toClient(rig.server.session.takeOutgoing())
        #expect(rig.behind.text == "back" && rig.behind.readsDone == before + 1)
        #expect(rig.behind.faults.isEmpty)
    }

    @Test func `a peer that goes at any byte of the handshake is a fault`() throws {
        let whole = try Rig()
        try whole.toServer()
        let size = try #require(whole.server.session.takeOutgoing()).readableBytes
        for count in 0..<size {
            let rig = try Rig()
            try rig.toServer()
            var flight = try #require(rig.server.session.takeOutgoing())
            try rig.toClient(flight.readSlice(length: min(count, flight.readableBytes - 1)))
            rig.channel.pipeline.fireChannelInactive()
            #expect(rig.behind.faults == [.cut], "after \(count) bytes")
            #expect(rig.behind.alpn == nil)
        }
    }

    @Test func `a connection that ends without close_notify is told from one that ends with it`()
        throws
    {
        let cut = try Rig()
        try cut.shakeHands()
        cut.channel.pipeline.fireChannelInactive()
        #expect(cut.behind.faults == [.truncated])

        let ended = try Rig()
        try ended.shakeHands()
        try ended.server.write("last")
        ended.server.session.sayGoodbye()
        try ended.toClient(ended.server.session.takeOutgoing())
        #expect(ended.behind.text == "last" && ended.behind.faults.isEmpty)
        #expect(!ended.channel.isActive)
        try ended.toServer()
        #expect(ended.server.reading == .ended)
    }

    @Test func `where clients may close their end, a close_notify does, and answers still go out`()
        throws
    {
        let rig = try Rig(isHalfClosable: true)
        try rig.shakeHands()
        rig.server.session.sayGoodbye()
        try rig.toClient(rig.server.session.takeOutgoing())
        #expect(rig.behind.inputEnds == 1 && rig.channel.isActive)
        // The end of TCP that follows adds nothing.
        rig.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(rig.behind.inputEnds == 1 && rig.behind.faults.isEmpty)
        rig.channel.writeAndFlush(ByteBuffer(string: "answer"), promise: nil)
        try rig.toServer()
        #expect(rig.server.text == "answer")

        let cut = try Rig(isHalfClosable: true)
        try cut.shakeHands()
        cut.channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        #expect(cut.behind.faults == [.truncated] && !cut.channel.isActive)
    }

    @Test func `a close says goodbye and waits for none`() throws {
        let rig = try Rig()
        try rig.shakeHands()
        rig.channel.writeAndFlush(ByteBuffer(string: "last"), promise: nil)
        let closed = rig.ending(of: rig.channel.close())
        #expect(!rig.channel.isActive && closed.value == "done")
        try rig.toServer()
        #expect(rig.server.text == "last" && rig.server.reading == .ended)
        #expect(rig.behind.faults.isEmpty)
    }

    /// Keeps what is written, like a socket whose peer does not read.
    private final class Stuck: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        var isStuck = false
        var kept: [EventLoopPromise<Void>] = []

        func write(
            context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?
        ) {
            guard isStuck else { return context.write(data, promise: promise) }
            if let promise { kept.append(promise) }
        }
    }

    @Test func `a peer that does not read holds a close up for a second, not for ever`() throws {
        let rig = try Rig()
        let stuck = Stuck()
        try rig.channel.pipeline.syncOperations.addHandler(stuck, position: .first)
        try rig.shakeHands()
        stuck.isStuck = true
        let closed = [rig.channel.close(), rig.channel.close()].map { rig.ending(of: $0) }
        rig.channel.embeddedEventLoop.advanceTime(by: .milliseconds(999))
        #expect(rig.channel.isActive)
        rig.channel.embeddedEventLoop.advanceTime(by: .milliseconds(1))
        #expect(!rig.channel.isActive)
        rig.channel.embeddedEventLoop.run()
        #expect(closed.map(\.value) == ["done", "done"])
        for one in stuck.kept { one.fail(ChannelError.ioOnClosedChannel) }
    }

    @Test func `an alert and a broken record end the connection`() throws {
        let alert = try Rig()
        try alert.toServer()
        try alert.toClient(ByteBuffer(bytes: [21, 3, 3, 0, 2, 2, 40]))
        #expect(alert.behind.faults.first?.description.contains("handshake failure") == true)
        #expect(alert.behind.faults.count == 1 && !alert.channel.isActive)

        let broken = try Rig()
        try broken.shakeHands()
        try broken.toClient(
            ByteBuffer(bytes: [23, 3, 3, 0, 20] + [UInt8](repeating: 7, count: 20)))
        #expect(broken.behind.faults.map(\.kind) == [.record] && !broken.channel.isActive)
        // The peer learns why.
        try broken.toServer()
        #expect("\(broken.server.reading)".contains("bad record mac"))
    }
}
