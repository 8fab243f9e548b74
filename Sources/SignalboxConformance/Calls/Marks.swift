internal import Glibc
internal import SignalboxCore

/// Marks that can be found wherever a plugin writes them.
///
/// Tokens, users, contents and bodies each have a unique prefix and a number.
enum Marks {
    /// Hexadecimal, so that senders with strict token rules accept it.
    static let token = "feedc0deca5eb10c"
    static let content = "feedc0deca5eb10d"
    static let user = "feedc0deca5eb10e"
    static let body = "feedc0deca5eb10f"
    /// Part of a UUID.
    static let stable = "feedc0de-ca5e-4b10-8c00-0000"
    /// Part of a provider's answer.
    static let needle = "feedc0deca5eb10b"

    static func digits(_ number: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, 8 - text.utf8.count)) + text
    }

    /// The token of a device: 64 hexadecimal digits, or the author's pattern.
    static func token(_ number: Int, pattern: String?) -> String {
        let mark = token + digits(number)
        guard let pattern else { return mark + String(repeating: "7a", count: 20) }
        return pattern.split(separator: "{n}", omittingEmptySubsequences: false)
            .joined(separator: mark)
    }

    /// The user of a device, or the author's pattern.
    static func user(_ number: Int, pattern: String?) -> String {
        let mark = user + digits(number)
        guard let pattern else { return mark }
        return pattern.split(separator: "{n}", omittingEmptySubsequences: false)
            .joined(separator: mark)
    }

    static func stableID(_ number: Int) -> String { stable + digits(number) }

    /// The numbers after a mark, anywhere in the bytes.
    static func numbers(of mark: String, in bytes: [UInt8]) -> [Int] {
        places(of: mark, in: bytes).compactMap { place in
            let end = place + mark.utf8.count
            guard end + 8 <= bytes.count else { return nil }
            return Int(String(decoding: bytes[end..<end + 8], as: UTF8.self), radix: 16)
        }
    }

    /// The bytes with zeros for the marks' numbers that differ between deliveries of a content.
    static func blanked(_ bytes: [UInt8]) -> [UInt8] {
        var out = bytes
        for mark in [token, user, stable] {
            for place in places(of: mark, in: bytes) {
                let start = place + mark.utf8.count
                for index in start..<min(start + 8, out.count) { out[index] = UInt8(ascii: "0") }
            }
        }
        return out
    }

    static func contains(_ text: String, _ mark: String) -> Bool {
        !places(of: mark, in: Array(text.utf8)).isEmpty
    }

    private static func places(of mark: String, in bytes: [UInt8]) -> [Int] {
        let wanted = Array(mark.utf8)
        var found: [Int] = []
        bytes.withUnsafeBytes { all in
            guard let base = all.baseAddress, let first = wanted.first else { return }
            var from = 0
            while all.count - from >= wanted.count,
                let hit = memchr(base + from, Int32(first), all.count - from - wanted.count + 1)
            {
                let place = UnsafeRawPointer(hit) - base
                if memcmp(base + place, wanted, wanted.count) == 0 {
                    found.append(place)
                    from = place + wanted.count
                } else {
                    from = place + 1
                }
            }
        }
        return found
    }
}

/// Finds confidential text in log lines and error messages.
struct Confidential {
    /// The values of the instance's secrets.
    let secrets: [[UInt8]]

    init(config: [String: [UInt8]]) {
        // Short values turn up by chance.
        secrets = config.values.filter { $0.count >= 8 }
    }

    /// Describes what a text reveals; nil if nothing.
    func leak(in text: String) -> String? {
        if Marks.contains(text, Marks.token) { return "a device token" }
        if Marks.contains(text, Marks.content) { return "the text of a notification" }
        if Marks.contains(text, Marks.body) { return "a part of a body" }
        let hasSecret = secrets.contains {
            Marks.contains(text, String(decoding: $0, as: UTF8.self))
        }
        return hasSecret ? "a secret of the config" : nil
    }
}
