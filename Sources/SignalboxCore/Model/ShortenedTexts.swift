/// Texts of a payload that were shortened, and members that were left out, to fit its provider's limit.
public struct ShortenedTexts: OptionSet, Sendable, Hashable {
    /// As bits, in the order of `names`.
    public let rawValue: UInt16

    /// Takes bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Fields of `sbx.fit/1`, then members that are left out, in the order of their bits.
    private static let names = [
        "body", "data", "subtitle", "title", "thumbnails", "files", "custom_fields",
        "related_channels", "metadata", "profile_url", "image", "other",
    ]

    /// The field with this name; empty if the name is unknown.
    public init(field: String) {
        rawValue = Self.names.firstIndex(of: field).map { 1 << UInt16($0) } ?? 0
    }

    /// A member that was left out, by its name; most names of other people's members are `other`.
    public init(member: String) {
        let known = ShortenedTexts(field: member)
        self = known.isEmpty ? ShortenedTexts(field: "other") : known
    }

    /// The names of the fields and members.
    public var fields: [String] {
        Self.names.indices.filter { rawValue & 1 << UInt16($0) != 0 }.map { Self.names[$0] }
    }
}
