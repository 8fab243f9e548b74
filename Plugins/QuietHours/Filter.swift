import SignalboxPluginKit

extension QuietHours {
    private static let minuteMs: Int64 = 60_000
    private static let dayMinutes = 24 * 60

    func filter(_ input: borrowing FilterInput, _ sink: borrowing FilterSink) throws(PluginError) {
        let now = Int64(clamping: input.nowUnixMs)
        /// When the quiet hours end, by zone; nil if it is not quiet now.
        var ends: [String: Int64?] = [:]
        var waiting: [Int64: [Int]] = [:]
        for index in 0..<input.recipientCount {
            let zone = zone(of: input.recipient(index))
            let end: Int64?
            if let known = ends[zone] {
                end = known
            } else {
                end = quietEnd(zone, now)
                ends[zone] = .some(end)
            }
            if let end { waiting[end, default: []].append(index) }
        }
        // Recipients that no call names pass at once.
        for (end, recipients) in waiting.sorted(by: { $0.key < $1.key }) {
            if config.drops {
                try sink.drop(recipients, "quiet_hours")
            } else {
                try sink.pass(recipients, notBeforeUnixMs: UInt64(clamping: end))
            }
        }
    }

    /// The recipient's own zone if the system knows it, or that of the instance.
    private func zone(of recipient: Recipient) -> String {
        let named =
            recipient.attribute(config.attribute)
            ?? recipient.device.attributes.first { $0.0 == config.attribute }?.1
        guard let named, host.utcOffset(zone: named, unixMs: 0) != nil else {
            return config.timezone
        }
        return named
    }

    /// When the current quiet hours of a zone end, in Unix milliseconds; nil if it is not quiet now.
    private func quietEnd(_ zone: String, _ nowMs: Int64) -> Int64? {
        guard let offset = offset(zone, nowMs) else { return nil }
        let localMinute = Int((nowMs + offset) / Self.minuteMs) % Self.dayMinutes
        let isQuiet =
            config.from < config.to
            ? (config.from..<config.to).contains(localMinute)
            : localMinute >= config.from || localMinute < config.to
        guard isQuiet else { return nil }
        let left = (config.to - localMinute + Self.dayMinutes) % Self.dayMinutes
        let localEnd = ((nowMs + offset) / Self.minuteMs + Int64(left)) * Self.minuteMs
        return max(instant(localEnd, zone, offset), nowMs + 1)
    }

    /// The Unix time of a local time in a zone. `offset` is the current one; daylight saving may change it before then.
    private func instant(_ localMs: Int64, _ zone: String, _ offset: Int64) -> Int64 {
        let late = localMs - offset
        let then = self.offset(zone, late) ?? offset
        let early = localMs - then
        guard early < late, self.offset(zone, early) != then else { return early }
        // The clocks skip it: the change of the clocks is when it would be.
        var (before, after) = (early / Self.minuteMs, late / Self.minuteMs)
        while after - before > 1 {
            let middle = (before + after) / 2
            if self.offset(zone, middle * Self.minuteMs) == then {
                after = middle
            } else {
                before = middle
            }
        }
        return after * Self.minuteMs
    }

    private func offset(_ zone: String, _ unixMs: Int64) -> Int64? {
        host.utcOffset(zone: zone, unixMs: UInt64(clamping: unixMs)).map { Int64($0) * 1_000 }
    }
}
