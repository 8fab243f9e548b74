internal import Logging
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxCrypto
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxObservability
internal import SignalboxThreads
internal import Synchronization

/// Finds the user that a token or an authorization code identifies.
final class UserAuthenticator: Sendable {
    /// A user of an app.
    struct Identity: Sendable {
        var app: String
        var user: String
        /// Whether a registration removes the user's other devices.
        var hasOneDevice = false
    }

    /// Why the user is unknown.
    enum Failure: Error {
        /// 401, with a message for the client.
        case refused(String)
        /// 503: keys or the token endpoint cannot be reached.
        case unavailable(String)
        /// 429, with the seconds to wait.
        case tooMany(seconds: Int)
    }

    /// How long fetched keys are valid, and how soon an unknown `kid` fetches them again.
    private static let keysLifeMs: UInt64 = 600_000
    private static let keysAgainMs: UInt64 = 30_000
    /// How long they are used while the issuer is unreachable, so that its outage locks nobody out.
    private static let keysStaleMs: UInt64 = 86_400_000
    /// How long a used code is remembered.
    private static let codeLifeMs: UInt64 = 3_600_000
    /// Most codes remembered, and most exchanges of a client at once, since anybody may send codes.
    private static let codesMax = 10_000
    private static let exchangesMax = 16

    private struct Cached {
        var keys: KeySet
        var atMs: UInt64
    }

    private struct State {
        var fetched: [String: Cached] = [:]
        /// Until when a failed fetch of keys is not repeated.
        var failed: [String: UInt64] = [:]
        var fetching: [String: Task<KeySet, any Error>] = [:]
        var codes: Set<String> = []
        /// In order of use.
        var codesInOrder: [String] = []
        /// By client, so that a hanging endpoint blocks no other client.
        var exchanges: [String: Int] = [:]
        /// Rate limits of the addresses that codes come from.
        var addresses = TokenBuckets(countMax: 10_000)
    }

    private let groups: [(settings: DeviceUsers, keys: KeySet?)]
    private let rest: RESTClient
    private let store: any GatewayStore
    private let clock: @Sendable () -> UInt64
    /// Most codes per second and address; 0 for no limit.
    private let codeRate: Int
    private let metrics: GatewayMetrics
    private let logger: Logger
    private let lines = FaultLines()
    private let state = Mutex(State())

    init(
        _ groups: [DeviceUsers], codeRate: Int, rest: RESTClient, store: any GatewayStore,
        metrics: GatewayMetrics, logger: Logger, clock: @escaping @Sendable () -> UInt64
    ) {
        // The rule `bad-keys` has parsed them: a configuration with unusable keys never gets here.
        self.groups = groups.map { ($0, $0.keys.isEmpty ? nil : try? KeySet($0.keys)) }
        self.rest = rest
        self.store = store
        self.clock = clock
        self.codeRate = codeRate
        self.metrics = metrics
        self.logger = logger
    }

    var isEmpty: Bool { groups.isEmpty }

    // MARK: Tokens

    /// The user of a token.
    func user(
        token text: some StringProtocol, of group: String? = nil, for client: String? = nil
    ) async throws(Failure) -> Identity {
        guard !UserToken.isEncrypted(text) else {
            throw .refused(
                "this token is encrypted (JWE), which is not supported: let the login sign it only")
        }
        guard let token = UserToken(text) else { throw .refused("this is not a signed token") }
        let named = groups.filter {
            $0.settings.issuer == token.issuer && (group == nil || $0.settings.name == group)
        }
        guard !named.isEmpty else { throw .refused("its issuer is not one of gateway.yaml's") }
        var words = "its signature does not fit"
        for group in named {
            guard try await isSigned(token, group.settings, group.keys) else { continue }
            do throws(UserToken.Refusal) {
                // If any audience is accepted, the token of an exchanged code must still be for its client.
                let user = try token.user(
                    audience: group.settings.audience ?? client,
                    leewayMs: group.settings.leewayMs, nowMs: clock())
                return Identity(
                    app: group.settings.app, user: user, hasOneDevice: group.settings.hasOneDevice)
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
        let known = state.withLock { $0.fetched[settings.keysURL] }
        if let known {
            if now < known.atMs + Self.keysLifeMs, token.isSigned(by: known.keys) { return true }
            // Keys rotate, so an unknown `kid` triggers a fetch, but not for every forged token.
            if now < known.atMs + Self.keysAgainMs { return false }
        }
        do throws(Failure) {
            return token.isSigned(by: try await fetchKeys(settings, now))
        } catch {
            guard let known, now < known.atMs + Self.keysStaleMs, token.isSigned(by: known.keys)
            else { throw error }
            return true
        }
    }

    /// Fetches keys, once for concurrent callers; after a failure it waits before the next fetch.
    private func fetchKeys(_ settings: DeviceUsers, _ now: UInt64) async throws(Failure) -> KeySet {
        let url = settings.keysURL
        let task = state.withLock { state -> Task<KeySet, any Error>? in
            if let until = state.failed[url], until > now { return nil }
            if let running = state.fetching[url] { return running }
            let made = Task { try await self.download(settings) }
            state.fetching[url] = made
            return made
        }
        guard let task else { throw .unavailable("the keys cannot be fetched") }
        do {
            let keys = try await task.value
            state.withLock { state in
                state.fetching[url] = nil
                state.fetched[url] = Cached(keys: keys, atMs: now)
            }
            return keys
        } catch {
            logger.error(
                "failed to fetch the keys of users' tokens",
                metadata: ["devices.users": "\(settings.name)", "error": "\(error)"])
            state.withLock { state in
                state.fetching[url] = nil
                state.failed[url] = now + Self.keysAgainMs
            }
            throw .unavailable("the keys cannot be fetched")
        }
    }

    private func download(_ settings: DeviceUsers) async throws -> KeySet {
        var call = RESTCall(method: "GET", url: settings.keysURL)
        call.caFile = settings.caFile.isEmpty ? nil : settings.caFile
        call.owner = "#users \(settings.name)"
        let answer = try await rest.answer(call)
        guard answer.status == 200 else { throw CryptoError("it answered \(answer.status)") }
        return try KeySet(String(decoding: answer.body, as: UTF8.self))
    }

    // MARK: Codes

    /// The user of an authorization code, exchanged once at the brand's token endpoint. Each exchange uses the client's
    /// secret and a request to the endpoint, and anybody may send a code, so codes are limited per address.
    func user(
        code: String, verifier: String, redirectURI: String, clientID: String, from address: String
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
        try admit(address, group)
        let name = try await use(code, flow)
        defer { state.withLock { $0.exchanges[flow.clientID, default: 1] -= 1 } }
        var fields = [
            ("grant_type", "authorization_code"), ("code", code), ("client_id", flow.clientID),
        ]
        if !redirectURI.isEmpty { fields.append(("redirect_uri", redirectURI)) }
        if !verifier.isEmpty { fields.append(("code_verifier", verifier)) }
        if !flow.clientSecret.isEmpty { fields.append(("client_secret", flow.clientSecret)) }
        var call = RESTCall(
            method: "POST", url: flow.tokenURL,
            headers: [Attribute("content-type", "application/x-www-form-urlencoded")],
            body: Array(
                fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&").utf8
            ))
        call.caFile = group.caFile.isEmpty ? nil : group.caFile
        call.owner = "#codes \(group.name)"
        let answer: RESTAnswer
        do {
            answer = try await rest.answer(call)
        } catch {
            forget(name)
            throw .unavailable("the token endpoint cannot be reached")
        }
        switch answer.status {
        case 200: try await remember(name)
        case 408, 429, 500...:
            forget(name)
            throw .unavailable("the token endpoint answered \(answer.status)")
        default: throw .refused("the token endpoint refuses the code")
        }
        guard let text = (try? JSONValue.parse(answer.body))?["id_token"]?.string else {
            throw .refused("the token endpoint gave no id_token")
        }
        // OpenID Connect Core, 3.1.3.7: an id_token for another client belongs to another app.
        return try await user(token: text, of: group.name, for: flow.clientID)
    }

    private func admit(_ address: String, _ group: DeviceUsers) throws(Failure) {
        guard codeRate > 0 else { return }
        let now = SystemClock.monotonicNs
        let wait = state.withLock {
            $0.addresses.take(address, perSecond: codeRate, nowNs: now)
        }
        guard let wait else { return }
        metrics.limitsReached["listen", "code_rate"].add()
        if let skipped = lines.write(address) {
            logger.warning(
                "a client sends too many authorization codes, answering 429",
                metadata: [
                    "devices.users": "\(group.name)", "client": "\(address)",
                    "count": "\(skipped + 1)", "key": "gateway.limits.code_rate",
                ])
        }
        throw .tooMany(seconds: wait)
    }

    /// Marks a code as used, which also holds after a restart; returns its key.
    private func use(
        _ code: String, _ flow: DeviceUsers.CodeFlow
    ) async throws(Failure) -> String {
        let name = Hex.encode(Digest.sha256(Array("\(flow.clientID) \(code)".utf8)))
        let wasUsed = await withCheckedContinuation { continuation in
            store.value(instance: "#codes", key: name) { result in
                continuation.resume(returning: (try? result.get()) != nil)
            }
        }
        let isNew = state.withLock { state -> Bool? in
            guard state.exchanges[flow.clientID, default: 0] < Self.exchangesMax else { return nil }
            guard !wasUsed, state.codes.insert(name).inserted else { return false }
            state.exchanges[flow.clientID, default: 0] += 1
            state.codesInOrder.append(name)
            if state.codesInOrder.count > Self.codesMax {
                state.codes.remove(state.codesInOrder.removeFirst())
            }
            return true
        }
        switch isNew {
        case true?: return name
        case false?: throw .refused("the authorization code was used before")
        case nil: throw .unavailable("too many authorization codes are being exchanged")
        }
    }

    /// The endpoint did not exchange the code, so it may be used again.
    private func forget(_ name: String) {
        state.withLock { state in
            guard state.codes.remove(name) != nil else { return }
            state.codesInOrder.removeAll { $0 == name }
        }
    }

    private func remember(_ name: String) async throws(Failure) {
        let isKept = await withCheckedContinuation { continuation in
            store.set(instance: "#codes", key: name, value: [1], forMs: Self.codeLifeMs) {
                continuation.resume(returning: (try? $0.get()) != nil)
            }
        }
        guard isKept else { throw .unavailable("store failed to write") }
    }
}
