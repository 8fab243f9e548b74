import SignalboxPluginKit
import Synchronization

/// Tells push services who sends (RFC 8292): a token for each of them, signed by the application server's key.
final class VAPID: Sendable {
    private struct Token {
        var header: String
        var endsUnixMs: UInt64
    }

    /// Push services refuse a token that is valid for more than a day.
    private static let validMs: UInt64 = 12 * 3_600_000
    /// A token is used for so long; a changed key counts afterwards.
    private static let usedMs: UInt64 = 600_000
    private static let tokensMax = 256

    private let host: Host
    private let config: Config
    private let tokens = Mutex<[String: Token]>([:])

    init(_ host: Host, _ config: Config) throws(PluginError) {
        self.host = host
        self.config = config
        _ = try make("https://push.invalid", nowUnixMs: host.nowUnixMs)
    }

    /// The header `authorization` for a push service.
    func authorization(for origin: String) throws(PluginError) -> String {
        let now = host.nowUnixMs
        let known = tokens.withLock { $0[origin] }
        if let known, known.endsUnixMs > now { return known.header }
        let header = try make(origin, nowUnixMs: now)
        tokens.withLock { tokens in
            // Origins come from subscriptions, so anybody can invent them.
            if tokens.count >= Self.tokensMax { tokens = [:] }
            tokens[origin] = Token(header: header, endsUnixMs: now + Self.usedMs)
        }
        return header
    }

    private func make(_ origin: String, nowUnixMs: UInt64) throws(PluginError) -> String {
        do throws(PluginError) {
            let token = try host.webToken(.es256, key: config.key) { out in
                out.member("aud", origin)
                out.member("exp", (nowUnixMs + Self.validMs) / 1_000)
                out.member("sub", config.subject)
            }
            let point = try host.publicKey(.raw, key: config.key)
            return "vapid t=\(token), k=\(Base64URL.encode(point))"
        } catch {
            throw PluginError(
                .invalid,
                "config.key is no private P-256 key as PEM, such as openssl ecparam -genkey -name "
                    + "prime256v1 writes: \(error.message)")
        }
    }
}
