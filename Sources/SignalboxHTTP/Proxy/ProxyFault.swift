/// Why a proxy made no connection.
struct ProxyFault: Error, CustomStringConvertible {
    let description: String

    /// It answered CONNECT with this status; tinyproxy says 401 of a wrong password.
    static func refusal(_ status: Int) -> ProxyFault {
        ProxyFault(
            description: status == 407 || status == 401
                ? "the proxy asks for a user and password, or refuses the given ones (\(status))"
                : "the proxy refused the connection (\(status))")
    }
}
