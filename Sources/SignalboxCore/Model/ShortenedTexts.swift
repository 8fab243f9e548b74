/// Texts of a payload that were shortened to fit its provider's limit.
public struct ShortenedTexts: OptionSet, Sendable, Hashable {
    /// As bits, in the order of `names`.
    public let rawValue: UInt8

    /// Takes bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Fields of `sbx.fit/1`, in the order of their bits.
    private static let names = ["body", "data", "subtitle", "title"]

    /// The field with this name; empty if there is none.
    public init(field: String) {
        rawValue = Self.names.firstIndex(of: field).map { 1 << UInt8($0) } ?? 0
    }

    /// The names of the fields.
    public var fields: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt8($0) != 0 }.map { Self.names[$0] }
    }
}
