package import SignalboxCore
package import SignalboxDispatch
internal import SignalboxJSON

/// A forgotten user as stored: a hash without the name.
package struct ForgottenEntry: Sendable {
    /// The instance name the entries are stored under; no plugin can have it.
    package static let instance = "#forgotten"
    /// The key under which `PauseOrders` signals new entries.
    static let stampKey = "forgotten"
    /// Most entries at a time; each expires after 31 days (`CancelEntry.keptMs`).
    package static let countMax = 100_000

    package let mark: ForgottenUsers.Mark
    package let beforeUnixMs: UInt64

    /// `seed`: the key of the hash; nil for a new one.
    package init(_ user: UserKey, seed: SeenKey?, beforeUnixMs: UInt64) {
        mark = ForgottenUsers.Mark(
            user,
            seed: seed ?? SeenKey(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max)))
        self.beforeUnixMs = beforeUnixMs
    }

    package var key: String { "\(Self.text(mark.seed)) \(Self.text(mark.hash))" }

    package var json: JSONValue {
        ["before_unix_ms": .integer(Int64(clamping: beforeUnixMs))]
    }

    /// Reads an entry of the store; nil if it is of another kind or damaged.
    package init?(key: String, _ bytes: [UInt8]) {
        let parts = key.split(separator: " ").compactMap { Self.key(String($0)) }
        guard parts.count == 2, let json = try? JSONValue.parse(bytes),
            let before = json["before_unix_ms"]?.integer
        else { return nil }
        mark = ForgottenUsers.Mark(seed: parts[0], hash: parts[1])
        beforeUnixMs = UInt64(clamping: before)
    }

    private static func text(_ key: SeenKey) -> String {
        "\(String(key.high, radix: 16))-\(String(key.low, radix: 16))"
    }

    private static func key(_ text: String) -> SeenKey? {
        let halves = text.split(separator: "-").compactMap { UInt64($0, radix: 16) }
        return halves.count == 2 ? SeenKey(high: halves[0], low: halves[1]) : nil
    }
}
