import Glibc
import Signalbox
import SignalboxCore
import SignalboxThreads

/// Events without a listener: from the plugin that reads them to the settlement on disk.
enum EventBench {
    /// Sends `count` webhooks with two devices each to the plugin at `/in/zendesk`, one after another.
    ///
    /// Returns how many pushes were delivered.
    static func webhooks(_ options: GatewayOptions, count: Int) async throws -> Int {
        let bodies = (0..<count).lazy.map { number in
            let devices = [number * 2, number * 2 + 1].map {
                #"{"identifier":"\#(SenderBench.token($0))","type":"ios"}"#
            }
            return """
                {"devices":[\(devices.joined(separator: ","))],"notification":{"title":"Ada replied",\
                "body":"Your parcel is on its way and will be with you tomorrow.","ticket_id":"\(number)"}}
                """
        }
        return try await send(bodies, pushes: 2, "/in/zendesk", options: options)
    }

    /// Sends one event for the first `users` of the registry to the plugin at `/in/events`.
    ///
    /// Returns how many pushes were delivered.
    static func fanOut(_ options: GatewayOptions, users: Int) async throws -> Int {
        let names = (0..<users).map { "\"u\($0)\"" }.joined(separator: ",")
        let body = """
            {"specversion":"1.0","id":"1","source":"/shop","type":"parcel.sent","data":{"title":"Your parcel",\
            "body":"It is on its way and will be with you tomorrow.","users":[\(names)]}}
            """
        let headers = [
            Attribute("content-type", "application/cloudevents+json"),
            Attribute("authorization", "Bearer 0123456789abcdef"),
        ]
        return try await send([body], pushes: users, "/in/events", headers, options: options)
    }

    private static func send(
        _ bodies: some Sequence<String>, pushes: Int, _ path: String, _ headers: [Attribute] = [],
        options given: GatewayOptions
    ) async throws -> Int {
        var options = given
        // An outcome stream would cost a tenth of what is measured.
        let outcomes = Gate((known: 0, delivered: 0))
        options.onOutcome = { outcome in
            outcomes.updateQuietly { counts in
                counts.known += 1
                if outcome.result == .delivered { counts.delivered += 1 }
                return counts.known.isMultiple(of: pushes)
            }
        }
        let gateway = try await Gateway.start(options)
        for (number, body) in bodies.enumerated() {
            let answer = await gateway.handle(
                GatewayRequest(
                    method: "POST", path: path, headers: headers, body: Array(body.utf8)))
            guard answer.status / 100 == 2 else {
                throw BenchFault(description: "an event was answered \(answer.status)")
            }
            outcomes.wait(for: { $0.known == pushes * (number + 1) ? () : nil })
            // Otherwise the settlement would share its commit with the next event or not, as the disk likes.
            while gateway.waitingCount > 0 { usleep(200) }
        }
        await gateway.stop()
        return outcomes.wait(for: { $0.delivered })
    }
}
