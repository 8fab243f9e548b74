internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxJSON

/// The command-line arguments of a trial.
package struct TrialInput: Sendable {
    /// The instance that gets the webhook.
    package var instance: String?
    /// The webhook's path, with a query if it has one.
    package var path: String?
    /// The webhook's method.
    package var method: String?
    /// The webhook's headers, as `NAME: VALUE`.
    package var headers: [String] = []
    /// The event's source.
    package var source: String?
    /// Devices of the registry, as a JSON array.
    package var devices: [UInt8]?
    /// Whether to check signatures of webhooks.
    package var checksSignatures = false
    /// The time, in Unix milliseconds; nil for the current time.
    package var nowUnixMs: UInt64?

    /// No arguments.
    package init() {}

    /// Parses a time with its offset, or a time as in the other commands.
    package static func unixMs(_ text: String) throws -> UInt64 {
        try InstantText.unixMs(text) ?? PastTime.unixMs(text)
    }

    /// The request for the bytes of a file; `onlySource` is the source of events that name none.
    package func request(_ bytes: [UInt8], onlySource: String?) throws -> TrialRequest {
        var request = try plain(bytes, onlySource)
        if checksSignatures { request.checksSignatures = true }
        if let nowUnixMs { request.nowUnixMs = nowUnixMs }
        if let devices {
            guard case .array(let items) = try parsed(devices, "the file of --devices") else {
                throw TrialFault(message: "the file of --devices must hold a JSON array")
            }
            request.devices = items
        }
        return request
    }

    private func plain(_ bytes: [UInt8], _ onlySource: String?) throws -> TrialRequest {
        if instance != nil || path != nil {
            var webhook = RouteTest.Webhook(plugin: instance ?? "")
            let parts = path?.split(separator: "?", maxSplits: 1).map { String($0) }
            webhook.path = parts?.first
            webhook.query = parts?.count == 2 ? parts?[1] ?? "" : ""
            webhook.method = method
            webhook.headers = try headers.map { line throws(TrialFault) in
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else {
                    throw TrialFault(message: "write a header as \"NAME: VALUE\": \(line)")
                }
                return Attribute(parts[0].lowercased(), String(parts[1].drop { $0 == " " }))
            }
            webhook.body = .string(String(decoding: bytes, as: UTF8.self))
            return TrialRequest(.webhook(webhook))
        }
        let json = try parsed(bytes, "the file")
        if json["webhook"] != nil || json["event"] != nil { return try TrialRequest(json: json) }
        return TrialRequest(.event(source: source ?? onlySource ?? "", json))
    }

    private func parsed(_ bytes: [UInt8], _ what: String) throws(TrialFault) -> JSONValue {
        do throws(JSONFault) {
            return try JSONValue.parse(bytes)
        } catch {
            throw TrialFault(message: "\(what) is not JSON: \(error.message)")
        }
    }
}
