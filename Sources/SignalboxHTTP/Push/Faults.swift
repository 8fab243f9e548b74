internal import NIOCore
internal import NIOPosix

/// Connect errors as log messages, without memory addresses or long dumps.
enum ConnectFault {
    static func text(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let dns = error.dnsAError ?? error.dnsAAAAError, error.connectionErrors.isEmpty {
                return "cannot resolve the host name (\(short(dns)))"
            }
            return error.connectionErrors.first.map { text($0.error) } ?? "cannot connect"
        case let error as IOError: return "the connect failed: \(SystemError.text(error.errnoCode))"
        case ChannelError.connectTimeout: return "the connect timed out"
        case let error as ProxyFault: return error.description
        case let error as TLSFault:
            return (error.kind == .handshake ? "TLS handshake failed: " : "TLS failed: ")
                + error.description
        default: return short(error)
        }
    }

    private static func short(_ error: any Error) -> String { String("\(error)".prefix(200)) }
}

/// The reason in a GOAWAY frame.
enum GoAwayReason {
    /// APNs and others send `{"reason":"Shutdown"}` as debug data; others send plain text.
    static func text(code: UInt32, debug: String) -> String {
        let parts = debug.split(separator: "\"" as Character, omittingEmptySubsequences: false)
        if let name = parts.firstIndex(of: "reason"), parts.indices.contains(name + 2) {
            return safe(parts[name + 2])
        }
        return debug.isEmpty ? "GOAWAY with code \(code)" : safe(debug[...])
    }

    private static func safe(_ text: Substring) -> String {
        String(
            text.prefix(80).map {
                $0.isASCII && ($0.isLetter || $0.isNumber || "_-. :".contains($0)) ? $0 : "?"
            })
    }
}
