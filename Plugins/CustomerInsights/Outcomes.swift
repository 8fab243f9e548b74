import SignalboxPluginKit

/// What is needed to report the outcome of one registration.
struct RegistrationOutcome: Sendable {
    var requestID: String
    var app: Config.App
    var isTracked: Bool
    var callbackURL: String
    var callbackHeaders: String
    /// When it was registered, in Unix milliseconds.
    var sinceMs: UInt64
}

extension Tracking {
    func outcome(of one: Registration) -> RegistrationOutcome {
        RegistrationOutcome(
            requestID: one.requestID, app: one.app, isTracked: isTracked, callbackURL: callbackURL,
            callbackHeaders: callbackHeaders, sinceMs: one.sinceMs)
    }
}

/// Outcomes of registrations that this instance accepted: stored, and reported by callback.
extension CustomerInsights {
    /// Handles the result of a dry run.
    func dryRunEnded(_ change: ChangeBatch.Change, _ server: Config.Server) {
        let device = change.device
        guard change.subject.hasPrefix("registration/"),
            let app = server.app(device.attribute("mobile_app_id") ?? "")
        else { return }
        let outcome = RegistrationOutcome(
            requestID: String(change.subject.dropFirst(13)), app: app,
            isTracked: device.attribute("track") == "true",
            callbackURL: device.attribute("callback_url") ?? "",
            callbackHeaders: device.attribute("callback_headers") ?? "",
            sinceMs: device.attribute("since").flatMap { UInt64($0) } ?? 0)
        let outcomes = dryRuns.ended(device, outcome)
        guard change.kind == .proven else {
            host.write(.info, "a dry run failed", [("reason", change.reason)])
            for outcome in outcomes { record(outcome, .dryRunSendingFailed, server) { _ in } }
            return
        }
        let sinceMs = outcomes.map(\.sinceMs).max() ?? outcome.sinceMs
        cleanups.isCleaned(device, app, sinceMs: sinceMs) { isCleaned in
            guard isCleaned != true else {
                // It was registered, and is gone again.
                for outcome in outcomes { self.record(outcome, nil, server) { _ in } }
                return
            }
            self.store(device, outcomes, server, isKnown: isCleaned != nil)
        }
    }

    private func store(
        _ device: Device, _ outcomes: [RegistrationOutcome], _ server: Config.Server, isKnown: Bool
    ) {
        guard isKnown, let app = outcomes.first?.app else {
            for outcome in outcomes { record(outcome, .failedToStoreDevice, server) { _ in } }
            return
        }
        var stored = device
        stored.attributes = [("mobile_app_id", app.mobileAppID)]
        host.change(SignalboxPluginKit.DeviceChange(.registered, stored)) { result in
            var reason: FailureReason?
            if case .failure = result { reason = .failedToStoreDevice }
            for outcome in outcomes { self.record(outcome, reason, server) { _ in } }
        }
    }

    /// Stores an outcome, if it can be queried, and makes the one callback.
    func record(
        _ outcome: RegistrationOutcome, _ reason: FailureReason?, _ server: Config.Server,
        then done: @escaping @Sendable (PluginError?) -> Void
    ) {
        (counters.outcomes[reason?.rawValue ?? "Success"])?.add()
        let status = Self.status(reason, signature: nil)
        guard outcome.isTracked else {
            callback(outcome, reason, server)
            done(nil)
            return
        }
        let key = Self.statusKey(outcome.app.mobileAppID, outcome.requestID)
        host.set(key, status, ttlMs: Self.statusTTLMs) { result in
            self.callback(outcome, reason, server)
            if case .failure(let error) = result { done(error) } else { done(nil) }
        }
    }

    private static func status(_ reason: FailureReason?, signature: String?) -> [UInt8] {
        var out = JSONWriter()
        out.object { out in
            out.member("Status", reason == nil ? "Success" : "Failed")
            out.member("Signature", signature ?? "")
            out.member("FailureReason", reason?.rawValue ?? "")
        }
        return out.bytes
    }

    /// Makes one attempt, as documented; a failed callback is lost, and counted.
    private func callback(
        _ outcome: RegistrationOutcome, _ reason: FailureReason?, _ server: Config.Server
    ) {
        guard !outcome.callbackURL.isEmpty else { return }
        guard
            let digest = try? host.sign(
                .hmacSHA256, key: outcome.app.token, data: Array(outcome.callbackURL.utf8))
        else { return }
        let signature = server.signsBase64 ? Base64URL.encodePadded(digest) : Hex.encode(digest)
        var call = HTTPCall("POST", outcome.callbackURL)
        let own =
            outcome.callbackHeaders.isEmpty
            ? [] : (try? Tracking.headers(outcome.callbackHeaders, host: host)) ?? []
        call.headers = own + [("content-type", "application/json")]
        call.body = Self.status(reason, signature: signature)
        call.caFile = config.caFile
        call.timeoutMs = server.callbackTimeoutMs
        call.refusesPrivateAddresses = !server.callsPrivate
        let host = host
        let counters = counters
        host.send(call) { result in
            switch result {
            case .success(let answer) where (200...299).contains(answer.status):
                counters.callbacks["sent"]?.add()
            case .success(let answer):
                counters.callbacks["refused"]?.add()
                host.write(
                    .warn, "callback rejected and not retried, as documented",
                    [("status", String(answer.status))])
            case .failure(let error):
                counters.callbacks["failed"]?.add()
                host.write(
                    .warn, "callback failed and not retried, as documented",
                    [("error", error.message)])
            }
        }
    }
}
