import Signalbox
import SignalboxCore
import Synchronization

/// Webhooks with two devices each, from the plugin that reads them to the settlement on disk, without a listener.
enum EventBench {
    /// Sends `count` webhooks of the plugin under `/in/zendesk`, one after the other; how many pushes were delivered.
    static func run(_ options: GatewayOptions, count: Int) async throws -> Int {
        var options = options
        let (outcomes, outcome) = AsyncStream.makeStream(of: DeliveryOutcome.Result.self)
        options.onOutcome = { outcome.yield($0.result) }
        let gateway = try await Gateway.start(options)
        var delivered = 0
        var iterator = outcomes.makeAsyncIterator()
        for number in 0..<count {
            let devices = [number * 2, number * 2 + 1].map {
                #"{"identifier":"\#(SenderBench.token($0))","type":"ios"}"#
            }
            let body = """
                {"devices":[\(devices.joined(separator: ","))],"notification":{"title":"Ada replied",\
                "body":"Your parcel is on its way and will be with you tomorrow.","ticket_id":"\(number)"}}
                """
            let answer = await gateway.handle(
                GatewayRequest(method: "POST", path: "/in/zendesk", body: Array(body.utf8)))
            guard answer.status == 200 else {
                throw BenchFault(description: "a webhook was answered \(answer.status)")
            }
            for _ in 0..<2 { if await iterator.next() == .delivered { delivered += 1 } }
        }
        await gateway.stop()
        return delivered
    }
}
