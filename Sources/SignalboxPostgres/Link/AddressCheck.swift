/// What libpq would find only when it connects, or take for something else.
enum AddressCheck {
    private static let words: [(name: String, known: [String])] = [
        ("sslmode", ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"]),
        ("channel_binding", ["disable", "prefer", "require"]),
        ("gssencmode", ["disable", "prefer", "require"]),
        ("load_balance_hosts", ["disable", "random"]),
        (
            "target_session_attrs",
            ["any", "read-write", "read-only", "primary", "standby", "prefer-standby"]
        ),
    ]
    private static let numbers = [
        "connect_timeout", "keepalives", "keepalives_idle", "keepalives_interval",
        "keepalives_count", "tcp_user_timeout",
    ]

    /// libpq ends the password at the first `@`, and looks for none behind a `/`. The rest of the password would be part
    /// of a host or database, which messages name.
    static func marks(_ text: String) throws(PostgresAddressError) {
        guard let start = text.firstRange(of: "://")?.upperBound else { return }
        var rest = text[start...]
        let isMark = { (character: Character) in character == "@" || character == "/" }
        if let mark = rest.firstIndex(where: isMark), rest[mark] == "@" {
            rest = rest[rest.index(after: mark)...]
        }
        guard rest.prefix(while: { $0 != "?" }).contains("@") else { return }
        throw PostgresAddressError(
            "has an @ where its host or database should be; in the user and the password, write @ as "
                + "%40 and / as %2F")
    }

    static func values(_ settings: [String: String]) throws(PostgresAddressError) {
        for (name, known) in words {
            guard let value = settings[name], !value.isEmpty, !known.contains(value) else {
                continue
            }
            throw PostgresAddressError(
                "has an unknown \(name); known: \(known.joined(separator: ", "))")
        }
        for name in numbers {
            guard let value = settings[name], !value.isEmpty, Int32(value) == nil else { continue }
            throw PostgresAddressError("needs a whole number as \(name)")
        }
        let ports = list(settings["port"])
        guard ports.allSatisfy({ $0.isEmpty || (1...65_535).contains(Int($0) ?? 0) }) else {
            throw PostgresAddressError("has a port that is no number from 1 to 65535")
        }
        let hosts = list(settings["hostaddr"] ?? settings["host"])
        guard ports.count <= 1 || ports.count == max(1, hosts.count) else {
            throw PostgresAddressError(
                "has \(ports.count) ports for \(hosts.count) hosts; give one for all, or one for each"
            )
        }
    }

    private static func list(_ text: String?) -> [Substring] {
        text?.split(separator: ",", omittingEmptySubsequences: false) ?? []
    }
}
