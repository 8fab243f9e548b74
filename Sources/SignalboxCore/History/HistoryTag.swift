/// Something by which history is searched, as 32 bits.
///
/// A row of history has the tags of all its records, so that a store finds rows without reading the records. Two
/// names may have the same tag: who reads the records compares them.
public struct HistoryTag: Sendable, Hashable {
    /// Size in bytes.
    static let size = 4
    /// FNV-1a, folded.
    let bits: UInt32

    /// An event's id.
    public static func event(_ id: UInt64) -> HistoryTag { HistoryTag("e", String(id)) }
    /// A user.
    public static func user(_ name: String) -> HistoryTag { HistoryTag("u", name) }
    /// What an event was about.
    public static func subject(_ subject: String) -> HistoryTag { HistoryTag("s", subject) }
    /// A device's token.
    public static func token(_ token: String) -> HistoryTag { HistoryTag("d", token) }
    /// The id that an event has at its source.
    public static func sourceID(_ id: String) -> HistoryTag { HistoryTag("k", id) }

    private init(_ kind: StaticString, _ text: String) {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        hash = (hash ^ UInt64(unsafe kind.utf8Start.pointee)) &* 0x100_0000_01b3
        let bytes = text.utf8.span
        for place in bytes.indices {
            hash = (hash ^ UInt64(bytes[place])) &* 0x100_0000_01b3
        }
        bits = UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    /// As stores search for it.
    public var bytes: [UInt8] {
        (0..<Self.size).map { UInt8(truncatingIfNeeded: bits >> UInt32(8 * $0)) }
    }
}
