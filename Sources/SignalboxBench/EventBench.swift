import Glibc
import Signalbox
import SignalboxCore
import SignalboxThreads

/// Webhooks with two devices each, without a listener.
///
/// They go from the plugin that reads them to the settlement on disk.
enum EventBench {
    /// Sends `count` webhooks to the plugin at `/in/zendesk`, one after another.
    ///
    /// Returns how many pushes were delivered.
    static func run(_ options: GatewayOptions, count: Int) async throws -> Int {
        var options = options
        // An outcome stream would cost a tenth of what is measured.
        let outcomes = Gate((known: 0, delivered: 0))
        options.onOutcome = { outcome in
            outcomes.updateQuietly { counts in
                counts.known += 1
                if outcome.result == .delivered { counts.delivered += 1 }
                return counts.known.isMultiple(of: 2)
            }
        }
        let gateway = try await Gateway.start(options)
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
            outcomes.wait(for: { $0.known == 2 * number + 2 ? () : nil })
            // Otherwise the settlement would share its commit with the next webhook or not, as the disk likes.
            while gateway.waitingCount > 0 { usleep(200) }
        }
        await gateway.stop()
        return outcomes.wait(for: { $0.delivered })
    }
}
