public import Signalbox
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// Webhooks at a steady rate through a gateway and simulators, all in this process.
public enum WebhookBench {
    /// How long the answers took, in milliseconds, and how many pushes per second arrived.
    public struct Report: Sendable {
        /// Half of the answers were faster.
        public let p50Ms: Double
        /// All but one in a hundred were faster.
        public let p99Ms: Double
        /// Webhooks that were answered 200.
        public let answered: Int
        /// Pushes that the simulators took.
        public let pushed: Int
    }

    /// Sends `count` webhooks with two devices each at `perSecond`.
    public static func run(
        _ options: GatewayOptions, perSecond: Int, count: Int
    ) async throws -> Report {
        let demo = try await Demo.start(options)
        let client = try RESTClient(callsMax: 4_096)
        let times = Mutex<[Double]>([])
        let left = Gate(count)
        let start = Clock.monotonicNs
        for number in 0..<count {
            let due = start + UInt64(number) * 1_000_000_000 / UInt64(perSecond)
            let now = Clock.monotonicNs
            if due > now { try await Task.sleep(for: .nanoseconds(Int64(due - now))) }
            let body = """
                {"devices":[{"identifier":"i\(number)","type":"ios"},{"identifier":"a\(number)",\
                "type":"android"}],"notification":{"title":"T","body":"B","ticket_id":"\(number)"}}
                """
            let sent = Clock.monotonicNs
            let call = RESTCall(
                method: "POST", url: "http://127.0.0.1:\(demo.gateway.port)/in/zendesk/demo",
                headers: [Attribute("content-type", "application/json")], body: Array(body.utf8))
            do throws(RESTFault) {
                try client.submit(call) { result in
                    if let answer = try? result.get(), answer.status == 200 {
                        let ms = Double(Clock.monotonicNs - sent) / 1e6
                        times.withLock { $0.append(ms) }
                    }
                    left.update { $0 -= 1 }
                }
            } catch {
                left.update { $0 -= 1 }
            }
        }
        await Thread.value { left.wait(for: { $0 <= 0 ? () : nil }) }
        let apns = await demo.simulators.apns.wait(for: count, timeoutMs: 10_000).count
        let fcm = await demo.simulators.fcm.wait(for: count, timeoutMs: 10_000).count
        client.shutdown()
        await demo.stop()
        let sorted = times.withLock { $0.sorted() }
        func at(_ share: Double) -> Double {
            sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
        }
        return Report(
            p50Ms: at(0.5), p99Ms: at(0.99), answered: sorted.count, pushed: apns + fcm)
    }
}
