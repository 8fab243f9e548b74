internal import CPostgres

/// How to reach the database: what libpq understands, as a URL or as `key=value` pairs.
public struct PostgresAddress: Sendable {
    /// Never logged: it may hold a password.
    private let text: String
    private let settings: [String: String]

    /// Checks the text. The error does not repeat it, since it may hold a password.
    public init(_ text: String) throws(PostgresAddressError) {
        var fault: UnsafeMutablePointer<CChar>?
        guard let options = PQconninfoParse(text, &fault) else {
            PQfreemem(fault)
            throw PostgresAddressError()
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
            // A peer that is gone without a word is noticed in seconds.
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

/// The address of a database cannot be read.
public struct PostgresAddressError: Error, Sendable, CustomStringConvertible {
    /// The message.
    public var description: String {
        "the address of the database cannot be read; write "
            + "postgres://USER@HOST:PORT/DATABASE?sslmode=verify-full, with special characters of the "
            + "password as %XX"
    }
}
