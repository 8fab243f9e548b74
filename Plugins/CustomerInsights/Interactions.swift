import SignalboxPluginKit

/// Reports of opened pushes from apps: `pushdatareceiver/events`.
extension CustomerInsights {
    /// Forwards an interaction to Customer Insights, and returns its answer; a sender that gets 503 retries.
    func interaction(_ json: JSON, _ sink: borrowing IngestSink) throws(PluginError) {
        let reader = Reader(json: json, path: "")
        try reader.checkObject()
        let tracking = try reader.text("TrackingId", max: 64, isRequired: false)
        let token = try reader.text("DeviceToken", isRequired: false)
        // The documented samples send it as text.
        let given = json["PushNotificationStatus"]
        guard let status = given?.integer ?? given?.string.flatMap({ Int64($0) }) else {
            throw Fault.wrong(path: "PushNotificationStatus", what: "must be a number").error
        }
        counters.interactions.add()
        // Test sends have no tracking id, so there is nothing to report.
        let isEmpty = tracking.allSatisfy { $0 == "0" || $0 == "-" }
        guard let client = config.client, !isEmpty else {
            try sink.respond(202)
            return
        }
        var body = JSONWriter()
        body.object { out in
            out.member("TrackingId", tracking)
            out.member("DeviceToken", token)
            out.member("PushNotificationStatus", status)
        }
        var call = HTTPCall(
            "POST", "\(client.origin)\(client.prefix)/pushdatareceiver/events")
        call.headers = [("content-type", "application/json")]
        call.body = body.bytes
        call.caFile = client.caFile
        let open = try sink.deferred(timeoutMs: 12_000)
        host.send(call) { result in
            open.attempt { () throws(PluginError) in
                let answer = try result.mapError { PluginError(.again, $0.message) }.get()
                switch answer.status {
                case 200...299: try open.respond(202)
                case 400: throw PluginError(.invalid, "Customer Insights rejects it as malformed")
                default: throw PluginError(.again, "Customer Insights answered \(answer.status)")
                }
                open.finish()
            }
        }
    }
}
