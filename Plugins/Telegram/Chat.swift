import SignalboxPluginKit
import Synchronization

/// Whom a device's token names: `123456`, `-1001234567890`, `-1001234567890:42` (a topic) or `@channel`.
struct Chat {
    /// A number, or `@name`.
    let id: String
    /// The topic in a group that has topics.
    let thread: String?

    /// nil: the token names no chat.
    init?(_ token: String) {
        let parts = token.split(separator: ":", omittingEmptySubsequences: false)
        guard let id = parts.first, parts.count <= 2, Self.isID(id) else { return nil }
        self.id = String(id)
        thread = parts.count == 2 ? String(parts[1]) : nil
        if let thread {
            guard Int64(thread).map({ $0 > 0 }) == true, id.hasPrefix("-") || id.hasPrefix("@")
            else { return nil }
        }
    }

    /// A conversation of two; groups and channels have limits of their own.
    var isPrivate: Bool { !id.hasPrefix("-") && !id.hasPrefix("@") }

    private static func isID(_ text: Substring) -> Bool {
        if text.hasPrefix("@") {
            let name = text.dropFirst().utf8
            return (4...32).contains(name.count)
                && name.allSatisfy {
                    (0x30...0x39).contains($0) || (0x41...0x5A).contains($0 & 0xDF) || $0 == 0x5F
                }
        }
        // What Swift reads as a number and Telegram does not: "+5", "007".
        return Int64(text).map { $0 != 0 && String($0) == text } ?? false
    }
}

/// Groups that have become supergroups, and so have new ids.
///
/// The registry learns the new id, but a push that waits, and a source that names the old one, does not.
final class Moves: Sendable {
    private static let countMax = 10_000
    private let successors = Mutex<[String: String]>([:])

    func note(_ id: String, _ successor: String) {
        successors.withLock { successors in
            if successors.count >= Self.countMax { successors = [:] }
            successors[id] = successor
        }
    }

    /// Where messages for this id go now.
    func current(_ id: String) -> String { successors.withLock { $0[id] } ?? id }
}
