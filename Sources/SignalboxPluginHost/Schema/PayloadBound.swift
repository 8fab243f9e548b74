public import SignalboxCore

/// A provider's limit of a request's size, as the plugin's schema declares it under `payloadLimits`.
///
/// Plugins keep to it by `sbx.fit/1`; the declaration lets tools show how much room is left.
public struct PayloadBound: Sendable {
    /// The limit in bytes.
    public let bytesMax: Int
    /// The platform of the devices it applies to; nil for all.
    private let platform: String?
    /// A header of the requests it applies to; nil for all.
    private let header: Attribute?
    /// Whether only names and texts count, as raw UTF-8; otherwise the JSON counts.
    private let countsTexts: Bool
    /// The parts that count; if empty, the whole body.
    private let parts: [[String]]

    /// Reads `{"bytes": 4096}`, with `platform`, `header` and `value`, `texts` and `parts` if they matter.
    init?(_ json: JSONValue) {
        guard let bytes = json["bytes"]?.integer, bytes > 0 else { return nil }
        bytesMax = Int(clamping: bytes)
        platform = json["platform"]?.string
        header = json["header"]?.string.map { Attribute($0, json["value"]?.string ?? "") }
        countsTexts = json["texts"] == .bool(true)
        guard case .array(let pointers) = json["parts"] else {
            parts = []
            return
        }
        parts = pointers.compactMap(\.string).map { $0.split(separator: "/").map { String($0) } }
    }

    /// Whether it limits a request for a device of this platform.
    public func applies(platform: String, headers: [Attribute]) -> Bool {
        (self.platform == nil || self.platform == platform)
            && (header.map { headers.contains($0) } ?? true)
    }

    /// How many bytes of a body count.
    public func size(of body: [UInt8], json: JSONValue?) -> Int {
        guard let json, countsTexts || !parts.isEmpty else { return body.count }
        return PayloadFit(bytesMax: bytesMax, countsTexts: countsTexts, counted: parts, places: [])
            .size(of: json)
    }
}
