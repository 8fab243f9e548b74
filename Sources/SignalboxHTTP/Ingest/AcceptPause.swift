internal import NIOCore

/// Waits a second when the system refuses to accept a client, for lack of descriptors for example.
///
/// Not NIO's `AcceptBackoffHandler`: that one delays the next `read`, but after an error the channel still waits for
/// readiness, so it tried again ten thousand times a second.
final class AcceptPause: ChannelInboundHandler {
    typealias InboundIn = any Channel
    private let connections: HTTPConnections

    init(_ connections: HTTPConnections) { self.connections = connections }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        connections.cannotAccept(error)
        let channel = context.channel
        channel.setOption(.autoRead, value: false).whenComplete { _ in
            channel.eventLoop.scheduleTask(in: .seconds(1)) {
                channel.setOption(.autoRead, value: true)
            }
        }
    }
}
