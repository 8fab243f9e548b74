package import CSignalbox
package import SignalboxCore
internal import SignalboxJSON

/// The sink of one `filter()` call; used by one thread.
package final class FilterSink: HostSink {
    /// What the plugin has said so far.
    package private(set) var made = Filtered()
    /// Calls that were refused: why, and for whom if that could be read.
    private var refusals: [(why: String, places: [Int]?)] = []
    private var isNamed: [Bool]
    private var bounds: FilterBounds
    private let structs: StructReader

    /// A sink for an event with `recipientCount` recipients.
    package init(recipientCount: Int, nowUnixMs: UInt64, structs: StructReader) {
        isNamed = [Bool](repeating: false, count: recipientCount)
        bounds = FilterBounds(nowUnixMs: nowUnixMs)
        self.structs = structs
    }

    /// Why a call was refused that named a recipient no other call names; nil if there is no such call.
    ///
    /// A plugin that then returns OK has missed the refusal, and those recipients would pass unfiltered.
    package var refusal: String? {
        refusals.first { one in one.places?.contains { !isNamed[$0] } ?? true }?.why
    }

    private func pass(_ given: UnsafePointer<sbx_filter_part>?) -> sbx_status {
        let read = structs.reading("pass()") { () throws(StructFault) in
            try given.map { part throws(StructFault) in try structs.read(part) }
        }
        guard let part = read ?? nil else { return refuse("pass() got no part") }
        guard let places = places(part.recipients, part.recipient_count) else {
            return refuse("pass(): \(Self.badIndex)")
        }
        guard bounds.isSoon(part.not_before_unix_ms) else {
            return refuse("pass(): not_before_unix_ms is over 30 days away", places)
        }
        var out = Filtered.Part(recipients: places, notBeforeUnixMs: part.not_before_unix_ms)
        if part.data.len > 0 {
            guard bounds.hasRoom(for: part.data.len) else {
                return refuse("pass(): data is too large", places, SBX_E_TOO_LARGE)
            }
            let text = part.data.text
            guard let parsed = JSONKinds.object(text) else {
                return refuse("pass(): data is not a JSON object", places)
            }
            bounds.took(part.data.len)
            out.data = JSONText(text, parsed: parsed)
        }
        name(places)
        made.parts.append(out)
        return SBX_OK
    }

    private func drop(
        _ recipients: UnsafePointer<UInt32>?, _ count: Int, _ reason: sbx_str
    ) -> sbx_status {
        guard let places = places(recipients, count) else {
            return refuse("drop(): \(Self.badIndex)")
        }
        name(places)
        let reason = reason.text
        made.drops += places.map { FanOut.Skip(recipient: $0, reason: reason) }
        return SBX_OK
    }

    private static let badIndex = "an index is out of range or was named before"

    private func refuse(
        _ why: String, _ places: [Int]? = nil, _ status: sbx_status = SBX_E_INVALID
    ) -> sbx_status {
        // One is enough to fail the call; a plugin may try many.
        if refusals.count < 16 || places == nil { refusals.append((why, places)) }
        return status
    }

    /// The recipients of a call; nil if one is out of range, or was named before.
    private func places(_ given: UnsafePointer<UInt32>?, _ count: Int) -> [Int]? {
        guard count == 0 || given != nil && count > 0 && count <= isNamed.count else { return nil }
        var out: [Int] = []
        out.reserveCapacity(count)
        var seen = Set<Int>(minimumCapacity: count)
        for index in 0..<count {
            guard let given, let place = Int(exactly: given[index]), place < isNamed.count,
                !isNamed[place], seen.insert(place).inserted
            else { return nil }
            out.append(place)
        }
        return out
    }

    private func name(_ places: [Int]) { for place in places { isNamed[place] = true } }

    package static let slots: SinkSlots<sbx_filter_sink> = SinkSlots { functions }

    /// Lead to the sink.
    package static var functions: sbx_filter_sink {
        var table = sbx_filter_sink()
        table.struct_size = UInt32(MemoryLayout<sbx_filter_sink>.size)
        table.pass = { sink, part in
            FilterSink.from(sink)?.pass(part) ?? FilterSink.slots.late(sink)
        }
        table.drop = { sink, recipients, count, reason in
            FilterSink.from(sink)?.drop(recipients, count, reason) ?? FilterSink.slots.late(sink)
        }
        return table
    }
}

/// What one call of a filter may ask for.
struct FilterBounds {
    let nowUnixMs: UInt64
    private var bytes = 0

    init(nowUnixMs: UInt64) { self.nowUnixMs = nowUnixMs }

    /// Whether a push may wait until this time.
    func isSoon(_ notBeforeUnixMs: UInt64) -> Bool {
        notBeforeUnixMs <= nowUnixMs || notBeforeUnixMs - nowUnixMs <= Limits.filterWaitMsMax
    }

    func hasRoom(for count: Int) -> Bool {
        count <= Limits.filterDataBytesMax.ofPart
            && bytes + count <= Limits.filterDataBytesMax.ofCall
    }

    mutating func took(_ count: Int) { bytes += count }
}
