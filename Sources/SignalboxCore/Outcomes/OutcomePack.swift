/// Outcomes to be stored, encoded as bytes, so that a commit writes them in one row.
///
/// Each has its result, its route and its JSON object without the opening brace: the sequence
/// number, its first member, is known only later. Numbers are LEB128. `OutcomeBatch` reads it.
public struct OutcomePack: Sendable {
    /// The encoded outcomes.
    public private(set) var bytes: [UInt8] = []
    /// How many there are.
    public private(set) var count = 0
    /// What is kept of them for traces; unlike the outcomes, it is dropped if there is no room for it.
    public var history = HistoryPack()

    /// Makes an empty pack.
    public init() {}

    /// Whether it holds no outcome; history does not count.
    public var isEmpty: Bool { count == 0 }

    /// Adds the outcome of a delivery.
    ///
    /// `attempts` is how often it was sent. The token and the text are left out.
    public mutating func add(
        _ result: OutcomeResult, of delivery: Delivery, reason: String, providerID: String,
        attempts: UInt32, unixMs: UInt64, shortened: ShortenedTexts = []
    ) {
        let (device, content) = (delivery.device, delivery.content)
        add(result, route: delivery.route) { json in
            json.put("result", result.name)
            json.put("unix_ms", unixMs)
            json.put("event_id", delivery.eventID)
            json.put("source", delivery.source)
            json.put("source_id", content.eventKey)
            json.put("type", content.eventType)
            json.put("subject", delivery.subject)
            json.put("user", device.user)
            json.put("app", device.app)
            json.put("platform", device.platform)
            json.put("route", delivery.route)
            json.put("sender", delivery.sender)
            json.put("delivery", delivery.stableID)
            json.put("reason", reason)
            json.put("provider_id", providerID)
            json.put("attempts", UInt64(attempts))
            if !shortened.isEmpty { json.put("shortened", shortened.fields) }
        }
    }

    /// Adds the outcome `opened`: a user opened a notification.
    public mutating func add(opened mark: OpenMark, user: String, app: String, unixMs: UInt64) {
        add(.opened, route: mark.route) { json in
            json.put("result", OutcomeResult.opened.name)
            json.put("unix_ms", unixMs)
            json.put("event_id", mark.eventID)
            json.put("user", user)
            json.put("app", app)
            json.put("route", mark.route)
        }
    }

    /// Adds what happened to a device. `name` stands for its token, which is left out.
    public mutating func add(_ report: DeviceReport, name: String, unixMs: UInt64) {
        let (change, device) = (report.change, report.change.device)
        guard let result = OutcomeResult(change.kind) else { return }
        add(result, route: "") { json in
            json.put("result", result.name)
            json.put("unix_ms", change.timeUnixMs == 0 ? unixMs : change.timeUnixMs)
            if report.eventID != 0 { json.put("event_id", report.eventID) }
            json.put("user", device.user)
            json.put("app", device.app)
            json.put("platform", device.platform)
            json.put("provider", device.provider)
            json.put("device", name)
            json.put("reason", change.reason)
        }
    }

    /// Adds the outcomes of another pack.
    public mutating func append(_ other: OutcomePack) {
        bytes += other.bytes
        count += other.count
    }

    private mutating func add(
        _ result: OutcomeResult, route: String, _ write: (inout Members) -> Void
    ) {
        var json = Members()
        write(&json)
        json.bytes.append(UInt8(ascii: "}"))
        bytes.append(result.rawValue)
        put(route.utf8.count)
        bytes.append(contentsOf: route.utf8)
        put(json.bytes.count)
        bytes.append(contentsOf: json.bytes)
        count += 1
    }

    private mutating func put(_ number: Int) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// The members of a JSON object; texts that are empty or too long are left out.
    private struct Members {
        var bytes: [UInt8] = []

        init() { bytes.reserveCapacity(512) }

        mutating func put(_ key: String, _ text: String) {
            guard !text.isEmpty, text.utf8.count <= OutcomeResult.textBytesMax else { return }
            begin(key)
            JSONValue.write(string: text, to: &bytes)
        }

        mutating func put(_ key: String, _ words: [String]) {
            begin(key)
            let list = words.map { "\"\($0)\"" }.joined(separator: ",")
            bytes.append(contentsOf: "[\(list)]".utf8)
        }

        mutating func put(_ key: String, _ number: UInt64) {
            begin(key)
            bytes.append(contentsOf: String(number).utf8)
        }

        private mutating func begin(_ key: String) {
            if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
            bytes.append(UInt8(ascii: "\""))
            bytes.append(contentsOf: key.utf8)
            bytes.append(UInt8(ascii: "\""))
            bytes.append(UInt8(ascii: ":"))
        }
    }
}
