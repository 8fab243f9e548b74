package import SignalboxCore
internal import SignalboxCrypto

/// How log lines name users, as set by `gateway.log.users`.
///
/// A hashed name tells users apart and is the same in every line of a data folder. Its key is random and kept in the
/// database: ids are often numbers or mail addresses, and a hash without a key can be reversed by trying them all.
package struct UserNames: Sendable {
    /// What a line shows.
    enum Style: String, Sendable {
        case plain, hashed, none
    }

    private let style: Style
    private let key: [UInt8]

    init(_ style: Style, key: [UInt8]) {
        self.style = style
        self.key = key
    }

    /// Reads the key from the database, or makes one.
    static func open(_ style: Style, _ store: any GatewayStore) async -> UserNames {
        let (instance, name) = ("#log", "users")
        let made = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        // If several gateways start at once, the first makes the key. A full disk does not prevent startup: the next
        // start makes another key.
        let kept = await withCheckedContinuation { continuation in
            store.edit(
                instance: instance, key: name, .replace(expected: nil, value: made, forMs: nil)
            ) { continuation.resume(returning: try? $0.get()) }
        }
        return UserNames(style, key: kept?.value ?? made)
    }

    /// What to log for a user; nil for nothing.
    func name(_ user: String) -> String? {
        if user.isEmpty { return nil }
        switch style {
        case .none: return nil
        case .plain: return user
        case .hashed: return hashed(user)
        }
    }

    private func hashed(_ user: String) -> String {
        Hex.encode(HMACDigest.sha256(key: key, data: Array(user.utf8)).prefix(6))
    }

    /// For a request that forgets a user, whose plain name must not survive in its log lines.
    package var forgetful: UserNames { style == .plain ? UserNames(.hashed, key: key) : self }

    /// What the audit keeps of a request: names, numbers and switches, with the user as in the log.
    ///
    /// Device tokens and the content of a push (`notification`, the only object in a request) are omitted.
    package func recorded(_ request: JSONValue) -> JSONValue {
        guard case .object(let members) = request else { return .null }
        return .object(
            members.compactMap { member in
                switch (member.key, member.value) {
                case ("token", _), (_, .object): nil
                case ("user", let value):
                    .init(member.key, .string(value.scalarText.flatMap(name) ?? ""))
                default: member
                }
            })
    }
}
