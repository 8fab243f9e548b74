/// Ids of roles and services that are not this contract's.
///
/// types.h says how they are written. A plugin may have them, and another host may know them.
enum ContractID {
    /// Whether it is an id of another author (`com.example.queue/1`) or a draft (`draft/queue/1`).
    static func isForeign(_ id: String) -> Bool {
        let isDraft = id.hasPrefix("draft/")
        let parts = (isDraft ? id.dropFirst("draft/".count) : id[...]).split(
            separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let version = parts.last, UInt32(version) != nil else {
            return false
        }
        let words = parts[0].split(separator: ".", omittingEmptySubsequences: false)
        guard words.allSatisfy(isWord) else { return false }
        return isDraft || words.count > 1 && words[0] != "sbx"
    }

    /// Whether it is a part of an id: lower-case letters, digits, `-` and `_`.
    static func isWord(_ text: Substring) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
