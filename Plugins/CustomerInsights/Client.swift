import SignalboxPluginKit
import Synchronization

/// Pending registrations with a real organization.
///
/// The state is only in memory: after a restart a change is registered again, which Customer
/// Insights answers with `DuplicateExists`; that counts as success.
final class ClientState: Sendable {
    struct Entry: Sendable {
        var device: Device
        /// From the answer; empty until accepted.
        var requestID = ""
        var acceptedMs: UInt64 = 0
        /// The result that a callback reported.
        var told: (status: String, reason: String)?
        var nonce = ""
        /// A batch with it was refused, so it is sent alone.
        var isAlone = false
    }

    /// Which request was sent for an item.
    enum Sent: Sendable {
        case registration, status, cleanup
    }

    private struct State {
        var entries: [UInt64: Entry] = [:]
        var sent: [UInt64: Sent] = [:]
        var nonces: [String: UInt64] = [:]
        /// Failed dry runs since the last successful one.
        var failuresInARow = 0
    }

    /// More than ever wait at once. Ids only grow, so the lowest belong to finished reports.
    private static let entriesMax = 50_000
    private let state = Mutex(State())

    func entry(_ id: UInt64, or device: Device) -> Entry {
        state.withLock { $0.entries[id] ?? Entry(device: device) }
    }

    func known(_ id: UInt64) -> Entry? { state.withLock { $0.entries[id] } }

    func keep(_ id: UInt64, _ entry: Entry) {
        state.withLock { state in
            var new = entry
            if let known = state.entries[id], known.nonce == entry.nonce { new.told = known.told }
            state.entries[id] = new
            // A used nonce stays used.
            if !new.nonce.isEmpty, new.told == nil { state.nonces[new.nonce] = id }
            guard state.entries.count > Self.entriesMax else { return }
            for old in state.entries.keys.sorted().prefix(Self.entriesMax / 4) {
                if let gone = state.entries.removeValue(forKey: old) {
                    state.nonces[gone.nonce] = nil
                }
                state.sent[old] = nil
            }
        }
    }

    func forget(_ id: UInt64) {
        state.withLock { state in
            if let nonce = state.entries.removeValue(forKey: id)?.nonce {
                state.nonces[nonce] = nil
            }
        }
    }

    func sent(_ ids: [UInt64], _ what: Sent) {
        state.withLock { state in for id in ids { state.sent[id] = what } }
    }

    func taken(_ id: UInt64) -> Sent? { state.withLock { $0.sent.removeValue(forKey: id) } }

    /// The report of a nonce; nil if the nonce was never issued or is used.
    func isOpen(nonce: String) -> UInt64? { state.withLock { $0.nonces[nonce] } }

    /// Records a valid callback; its nonce cannot be used again.
    func told(nonce: String, status: String, reason: String) {
        state.withLock { state in
            guard let id = state.nonces.removeValue(forKey: nonce) else { return }
            state.entries[id]?.told = (status, reason)
        }
    }

    /// Counts consecutive failed dry runs.
    func dryRun(hasFailed: Bool) -> Int {
        state.withLock { state in
            state.failuresInARow = hasFailed ? state.failuresInARow + 1 : 0
            return state.failuresInARow
        }
    }
}

extension CustomerInsights: RegisterPlugin {
    static var maxChanges: Int { batchMax }
    static var changeKinds: Set<ChangeKind> {
        [.registered, .unregistered, .invalid, .proven, .unproven]
    }

    /// After this many consecutive failures, the app's credentials are suspected, not the tokens.
    private static let suspiciousFailures = 5

    func registerEndpoint(app: String) throws(PluginError) -> Endpoint {
        guard let client = config.client else {
            // With only a server, the only calls are callbacks, which have their own addresses.
            return Endpoint(origin: "https://customer-insights.invalid")
        }
        var endpoint = Endpoint(origin: client.origin)
        endpoint.caFile = client.caFile
        return endpoint
    }

    func prepare(_ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        var registrations: [(id: UInt64, entry: ClientState.Entry)] = []
        var polls: [(id: UInt64, entry: ClientState.Entry)] = []
        var cleanups: [ChangeBatch.Change] = []
        for index in 0..<changes.count {
            let change = changes[index]
            switch change.kind {
            case .proven, .unproven:
                if let server = config.server { dryRunEnded(change, server) }
                try sink.settle([change.id], Outcome(.delivered, "recorded"))
            case .registered where isForClient(change):
                let entry = state.entry(change.id, or: change.device)
                if let told = entry.told {
                    try settle(change.id, told.status, told.reason, sink)
                } else if entry.requestID.isEmpty {
                    registrations.append((change.id, entry))
                } else {
                    polls.append((change.id, entry))
                }
            case .unregistered where isForClient(change), .invalid where isForClient(change):
                cleanups.append(change)
            default: try sink.settle([change.id], Outcome(.delivered, "ignored"))
            }
        }
        guard let client = config.client, let app = client.app(changes.app) else { return }
        let token = try host.secretText(app.token)
        try send(registrations: registrations, app, token, client, sink)
        let single = polls.filter(\.entry.isAlone).map { [$0] }
        for part in single + [polls.filter { !$0.entry.isAlone }] where !part.isEmpty {
            state.sent(part.map(\.id), .status)
            try sink.send(
                ClientRequest.status(part.map(\.entry.requestID), app, token, client),
                for: part.map(\.id))
        }
        let alone = cleanups.filter {
            client.cleansOneByOne || state.known($0.id)?.isAlone == true
        }
        let together = cleanups.filter { change in !alone.contains { $0.id == change.id } }
        for part in alone.map({ [$0] }) + [together] where !part.isEmpty {
            state.sent(part.map(\.id), .cleanup)
            try sink.send(ClientRequest.cleanup(part, app, token, client), for: part.map(\.id))
        }
    }

    private func isForClient(_ change: ChangeBatch.Change) -> Bool {
        config.client?.app(change.device.app) != nil && !change.device.user.isEmpty
            && ["ios", "android"].contains(change.device.platform)
    }

    private func send(
        registrations: [(id: UInt64, entry: ClientState.Entry)], _ app: Config.App,
        _ token: String, _ client: Config.Client, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        // A callback does not identify its registration, so each needs its own URL.
        let singles = registrations.filter { !client.callbackURL.isEmpty || $0.entry.isAlone }
        let batch = registrations.filter { client.callbackURL.isEmpty && !$0.entry.isAlone }
        for (id, given) in singles {
            var entry = given
            if !client.callbackURL.isEmpty {
                state.forget(id)
                entry.nonce = Hex.encode((0..<16).map { _ in UInt8.random(in: .min ... .max) })
            }
            state.keep(id, entry)
            state.sent([id], .registration)
            try sink.send(
                ClientRequest.registration([entry], isBatch: false, app, token, client), for: id)
        }
        guard !batch.isEmpty else { return }
        for (id, entry) in batch { state.keep(id, entry) }
        state.sent(batch.map(\.id), .registration)
        try sink.send(
            ClientRequest.registration(batch.map(\.entry), isBatch: true, app, token, client),
            for: batch.map(\.id))
    }

    func classifyChanges(
        _ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        for index in 0..<batch.count {
            let response = batch[index]
            let items = response.items
            let sent = items.compactMap { state.taken($0) }.first
            let wait = host.retryAfterMs(response)
            let outcome = Answer.outcome(response.status, retryAfterMs: wait)
            let answer = try? host.parse(response.body)
            switch sent {
            case .registration where outcome.kind == .delivered:
                try accepted(items, answer, sink)
            case _? where response.status == 400 && items.count > 1:
                // A bad item must not fail the others, so each is sent alone.
                for item in items {
                    var entry = state.entry(item, or: Device())
                    entry.isAlone = true
                    state.keep(item, entry)
                }
                try sink.settle(items, Outcome(.retry, "batch_refused"))
            case .status where outcome.kind == .delivered:
                try statuses(items, answer, sink)
            default:
                if ![.retry, .throttled].contains(outcome.kind) {
                    for item in items { state.forget(item) }
                }
                try sink.settle(items, outcome)
            }
        }
    }

    private func accepted(
        _ items: [UInt64], _ answer: JSON?, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        let list = answer?.kind == .array ? answer?.elements ?? [] : answer.map { [$0] } ?? []
        for (index, item) in items.enumerated() {
            guard var entry = state.known(item) else { continue }
            let id = index < list.count ? list[index]["RegistrationRequestId"]?.string ?? "" : ""
            guard !id.isEmpty else {
                try sink.settle([item], Outcome(.retry, "no_request_id"))
                continue
            }
            entry.requestID = id
            entry.acceptedMs = host.nowUnixMs
            state.keep(item, entry)
            try sink.settle([item], pending)
        }
    }

    /// Accepted, but without a result yet: ask again later.
    private var pending: Outcome {
        Outcome(.retry, "pending", retryAfterMs: config.client?.pollMs ?? 0)
    }

    private func statuses(
        _ items: [UInt64], _ answer: JSON?, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        let list = answer?.elements ?? []
        for (index, item) in items.enumerated() {
            let status = index < list.count ? list[index] : nil
            try settle(
                item, status?["Status"]?.string ?? "Pending",
                status?["FailureReason"]?.string ?? "", sink)
        }
    }

    private func settle(
        _ item: UInt64, _ status: String, _ reason: String, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        guard var outcome = Answer.outcome(status: status, reason: reason) else {
            let since = state.known(item)?.acceptedMs ?? 0
            guard host.nowUnixMs >= since + (config.client?.pendingLimitMs ?? 0) else {
                try sink.settle([item], pending)
                return
            }
            state.forget(item)
            var given = Outcome(.rejected, "pending_for_ever")
            given.detail = "api_token may be wrong, or Customer Insights is throttled"
            try sink.settle([item], given)
            return
        }
        if outcome.reason == "DryRunSendingFailed" {
            if state.dryRun(hasFailed: true) >= Self.suspiciousFailures {
                host.write(
                    .error,
                    "consecutive dry runs fail: the app's credentials in Customer Insights may "
                        + "be wrong or expired; tokens are kept", [])
                outcome = Outcome(.rejected, "DryRunSendingFailed")
                outcome.detail = "repeated failures: credentials are suspected, the token is kept"
            }
        } else if outcome.kind == .delivered {
            _ = state.dryRun(hasFailed: false)
        }
        // FailedToStoreDevice: register again.
        state.forget(item)
        try sink.settle([item], outcome)
    }

    // MARK: Callback

    /// `POST {callback_path}/{nonce}` from Customer Insights: the outcome of one registration.
    func callback(_ request: borrowing Request, _ sink: borrowing IngestSink) throws(PluginError) {
        guard let client = config.client, let nonce = request.param("nonce"),
            let id = state.isOpen(nonce: nonce), let entry = state.known(id),
            let app = client.app(entry.device.app)
        else { throw PluginError(.invalid, "unknown or already used callback URL") }
        let json = try host.parse(bodyOf: request)
        guard let signature = json["Signature"]?.string else {
            throw PluginError(.auth, "Signature is missing")
        }
        let url = "\(client.callbackURL)/\(nonce)"
        // The encoding is undocumented: hexadecimal of either case and base64 are accepted.
        let forms = [Hex.decode(signature), Base64URL.decode(signature)].compactMap { $0 }
        var fits = false
        for form in forms where form.count == 32 {
            if try host.verify(
                .hmacSHA256, key: app.token, data: Array(url.utf8), signature: form)
            {
                fits = true
            }
        }
        guard fits else { throw PluginError(.auth, "Signature does not match the callback URL") }
        guard let status = json["Status"]?.string else {
            throw Fault.missing(path: "Status").error
        }
        state.told(nonce: nonce, status: status, reason: json["FailureReason"]?.string ?? "")
        try sink.respond(202)
    }
}
