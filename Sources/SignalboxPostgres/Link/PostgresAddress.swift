internal import CPostgres

/// How to reach the database: a URL that libpq understands.
public struct PostgresAddress: Sendable {
    private static let schemes = ["postgres://", "postgresql://"]

    /// Never logged: it may hold a password.
    private let text: String
    private let settings: [String: String]

    /// Whether a text is meant to be the address of a database.
    public static func isOne(_ text: String) -> Bool { schemes.contains { text.hasPrefix($0) } }

    /// Checks the text. The error does not repeat it, since it may hold a password.
    public init(_ text: String) throws(PostgresAddressError) {
        guard Self.isOne(text) else { throw .unreadable("must begin with postgres://") }
        try AddressCheck.marks(text)
        var fault: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &fault) else {
            PQfreemem(fault)
            throw .unreadable("cannot be read")
        }
        defer { PQconninfoFree(options) }
        var found: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val {
                found[String(cString: keyword)] = String(cString: value)
            }
            option += 1
        }
        try AddressCheck.values(found)
        self.text = text
        settings = found
    }

    /// Hosts, port and database for people.
    public var place: String {
        let host = settings["host"] ?? settings["hostaddr"] ?? "the local socket"
        let port = settings["port"].map { ":\($0)" } ?? ""
        return "\(host)\(port)/\(settings["dbname"] ?? settings["user"] ?? "")"
    }

    /// Names and values for libpq: what was given, and what a gateway wants where nothing was.
    var parameters: [(name: String, value: String)] {
        var out = [(name: "dbname", value: text)]
        let wanted = [
            ("fallback_application_name", "signalbox"),
            // Detects a silently vanished peer within seconds.
            ("tcp_user_timeout", "10000"),
            ("keepalives_idle", "10"), ("keepalives_interval", "3"), ("keepalives_count", "3"),
        ]
        for (name, value) in wanted where settings[name] == nil { out.append((name, value)) }
        // Of several hosts, and after a failover, only the primary is of use.
        if settings["target_session_attrs"] != "primary" {
            out.append(("target_session_attrs", "read-write"))
        }
        // Per host; longer than one would keep the others waiting. libpq counts 1 as 2.
        let seconds = settings["connect_timeout"].flatMap { Int($0) } ?? 2
        out.append(("connect_timeout", (1...10).contains(seconds) ? "\(seconds)" : "10"))
        out.append(("client_encoding", "UTF8"))
        return out
    }
}

/// The address of a database cannot be read or used.
public struct PostgresAddressError: Error, Sendable, CustomStringConvertible {
    /// Names the fault and the fix, and holds no part of the address.
    public let description: String

    /// `fault` follows "the address of the database".
    init(_ fault: String) { description = "the address of the database \(fault)" }

    static func unreadable(_ fault: String) -> PostgresAddressError {
        PostgresAddressError(
            "\(fault); write postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full, with special "
                + "characters of the password as %XX")
    }
}
