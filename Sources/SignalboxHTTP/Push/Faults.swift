internal import NIOCore
internal import NIOPosix

/// Errors of connecting in words for a log: no address of memory, no long dumps.
enum ConnectFault {
    static func text(_ error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            if let dns = error.dnsAError ?? error.dnsAAAAError, error.connectionErrors.isEmpty {
                return "the name of the host cannot be resolved (\(short(dns)))"
            }
            return error.connectionErrors.first.map { text($0.error) } ?? "cannot connect"
        case let error as IOError: return "connecting failed: \(SystemError.text(error.errnoCode))"
        case ChannelError.connectTimeout: return "connecting took too long"
        case let error as TLSFault:
            return (error.kind == .handshake ? "TLS handshake failed: " : "TLS failed: ")
                + error.description
        default: return short(error)
        }
    }

    private static func short(_ error: any Error) -> String { String("\(error)".prefix(200)) }
}

/// What a GOAWAY says.
enum GoAwayReason {
    /// APNs and others put `{"reason":"Shutdown"}` into the debug data; others put plain words.
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
