internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import Synchronization

/// Finds out which user a token or an authorization code stands for.
final class UserAuthenticator: Sendable {
    /// A user of an app.
    struct Identity: Sendable {
        var app: String
        var user: String
    }

    /// Why there is none.
    enum Failure: Error {
        /// 401, with words for the bearer.
        case refused(String)
        /// 503: keys or the token endpoint cannot be reached.
        case unavailable(String)
    }

    /// How long fetched keys are good, and how soon they are fetched again for an unknown `kid`.
    private static let keysLifeMs: UInt64 = 600_000
    private static let keysAgainMs: UInt64 = 30_000
    /// How long a code that was used is remembered.
    private static let codeLifeMs: UInt64 = 3_600_000

    private struct Cached {
        var keys: KeySet
        var atMs: UInt64
    }

    private struct State {
        var fetched: [String: Cached] = [:]
        var codes: [String: UInt64] = [:]
    }

    private let groups: [(settings: DeviceUsers, keys: KeySet?)]
    private let rest: RESTClient
    private let store: any GatewayStore
    private let clock: @Sendable () -> UInt64
    private let logger: Logger
    private let state = Mutex(State())

    init(
        _ groups: [DeviceUsers], rest: RESTClient, store: any GatewayStore, logger: Logger,
        clock: @escaping @Sendable () -> UInt64
    ) throws(ConfigurationError) {
        var read: [(DeviceUsers, KeySet?)] = []
        for group in groups {
            do throws(CryptoError) {
                read.append((group, group.keys.isEmpty ? nil : try KeySet(group.keys)))
            } catch {
                throw ConfigurationError(diagnostics: [
                    Diagnostic(
                        "bad-keys", at: group.position,
                        "devices users \"\(group.name)\": keys: \(error.message)")
                ])
            }
        }
        self.groups = read
        self.rest = rest
        self.store = store
        self.clock = clock
        self.logger = logger
    }

    var isEmpty: Bool { groups.isEmpty }

    // MARK: Tokens

    /// The user of a token.
    func user(token text: some StringProtocol) async throws(Failure) -> Identity {
        guard let token = UserToken(text) else { throw .refused("this is not a signed token") }
        let named = groups.filter { $0.settings.issuer == token.issuer }
        guard !named.isEmpty else { throw .refused("its issuer is not one of gateway.yaml's") }
        var words = "its signature does not fit"
        for group in named {
            guard try await isSigned(token, group.settings, group.keys) else { continue }
            do throws(UserToken.Refusal) {
                let user = try token.user(
                    audience: group.settings.audience, leewayMs: group.settings.leewayMs,
                    nowMs: clock())
                return Identity(app: group.settings.app, user: user)
            } catch {
                words = error.words
            }
        }
        throw .refused(words)
    }

    private func isSigned(
        _ token: UserToken, _ settings: DeviceUsers, _ keys: KeySet?
    ) async throws(Failure) -> Bool {
        if let keys { return token.isSigned(by: keys) }
        let now = clock()
        if let known = state.withLock({ $0.fetched[settings.keysURL] }) {
            if now < known.atMs + Self.keysLifeMs, token.isSigned(by: known.keys) { return true }
            // Keys are rotated: an unknown one is asked for, but not for every forged token.
            if now < known.atMs + Self.keysAgainMs { return false }
        }
        return token.isSigned(by: try await fetchKeys(settings, now))
    }

    private func fetchKeys(_ settings: DeviceUsers, _ now: UInt64) async throws(Failure) -> KeySet {
        var call = RESTCall(method: "GET", url: settings.keysURL)
        call.caFile = settings.caFile.isEmpty ? nil : settings.caFile
        let keys: KeySet
        do {
            let answer = try await rest.answer(call)
            guard answer.status == 200 else {
                throw CryptoError("it answered \(answer.status)")
            }
            keys = try KeySet(String(decoding: answer.body, as: UTF8.self))
        } catch {
            logger.error(
                "keys of users' tokens cannot be fetched",
                metadata: ["devices.users": "\(settings.name)", "error": "\(error)"])
            throw .unavailable("the keys cannot be fetched")
        }
        state.withLock { $0.fetched[settings.keysURL] = Cached(keys: keys, atMs: now) }
        return keys
    }

    // MARK: Codes

    /// The user of an authorization code, which is exchanged at the brand's token endpoint, once.
    func user(
        code: String, verifier: String, redirectURI: String, clientID: String
    ) async throws(Failure) -> Identity {
        let flows = groups.filter { group in
            group.settings.code.map { clientID.isEmpty || $0.clientID == clientID } ?? false
        }
        guard flows.count == 1, let group = flows.first?.settings, let flow = group.code else {
            throw .refused(
                flows.isEmpty
                    ? "authorization codes are not taken here"
                    : "say which client_id the code is of")
        }
        try await use(code, flow)
        var fields = [
            ("grant_type", "authorization_code"), ("code", code), ("client_id", flow.clientID),
        ]
        if !redirectURI.isEmpty { fields.append(("redirect_uri", redirectURI)) }
        if !verifier.isEmpty { fields.append(("code_verifier", verifier)) }
        if !flow.clientSecret.isEmpty { fields.append(("client_secret", flow.clientSecret)) }
        var call = RESTCall(
            method: "POST", url: flow.tokenURL,
            headers: [Attribute("content-type", "application/x-www-form-urlencoded")],
            body: Array(fields.map { "\($0.0)=\(Self.encoded($0.1))" }.joined(separator: "&").utf8))
        call.caFile = group.caFile.isEmpty ? nil : group.caFile
        let answer: RESTAnswer
        do {
            answer = try await rest.answer(call)
        } catch {
            throw .unavailable("the token endpoint cannot be reached")
        }
        switch answer.status {
        case 200: break
        case 400...499: throw .refused("the token endpoint refuses the code")
        default: throw .unavailable("the token endpoint answered \(answer.status)")
        }
        guard let text = (try? JSONValue.parse(answer.body))?["id_token"]?.string else {
            throw .refused("the token endpoint gave no id_token")
        }
        return try await user(token: text)
    }

    /// A code is good for one use, also after a restart.
    private func use(_ code: String, _ flow: DeviceUsers.CodeFlow) async throws(Failure) {
        let name = Hex.encode(Digest.sha256(Array("\(flow.clientID) \(code)".utf8)))
        let now = clock()
        let isNew = state.withLock { state in
            state.codes = state.codes.filter { $0.value > now }
            return state.codes.updateValue(now + Self.codeLifeMs, forKey: name) == nil
        }
        let wasUsed = await withCheckedContinuation { continuation in
            store.value(instance: "#codes", key: name, nowUnixMs: now) { result in
                continuation.resume(returning: (try? result.get()) != nil)
            }
        }
        guard isNew, !wasUsed else { throw .refused("the authorization code was used before") }
        let isKept = await withCheckedContinuation { continuation in
            store.set(
                instance: "#codes", key: name, value: [1], expiresUnixMs: now + Self.codeLifeMs
            ) { continuation.resume(returning: (try? $0.get()) != nil) }
        }
        guard isKept else { throw .unavailable("the store cannot write") }
    }

    private static func encoded(_ text: String) -> String {
        var out: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"), UInt8(ascii: "~"):
                out.append(byte)
            default: out += Array("%\(Hex.encode([byte]).uppercased())".utf8)
            }
        }
        return String(decoding: out, as: UTF8.self)
    }
}
