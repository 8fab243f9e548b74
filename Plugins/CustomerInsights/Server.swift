import SignalboxPluginKit
import Synchronization

/// Serves the registration API in place of Customer Insights.
extension CustomerInsights {
    static let batchMax = 100
    /// How long an outcome can be queried.
    static let statusTTLMs: UInt64 = 30 * 86_400_000

    func serverPaths(_ server: Config.Server) -> [String] {
        let devices = "\(server.base)/api/v1.0/orgs/{org}/pushdeviceregistration/devices"
        return [
            devices, "\(devices)/batch", "\(devices)/status", "\(devices)/status/",
            "\(devices)/cleanup", "\(devices)/cleanup/batch",
            "\(server.base)/api/v1.0/orgs/{org}/pushdatareceiver/events",
        ] + (server.messagesPath.isEmpty ? [] : [server.messagesPath])
    }

    func serve(
        _ server: Config.Server, _ request: borrowing Request, _ sink: borrowing IngestSink
    ) throws(PluginError) {
        let json = try host.parse(bodyOf: request)
        let pattern = request.pattern
        if pattern == server.messagesPath {
            try message(json, server, sink)
            return
        }
        guard request.param("org") == server.org else { throw Fault.unknownOrg.error }
        if pattern.hasSuffix("/pushdatareceiver/events") {
            try interaction(json, sink)
        } else if pattern.hasSuffix("/cleanup/batch") {
            // The sample shows one object, the documentation a list: both are accepted.
            let items = json.kind == .object ? [json] : try batch(json)
            try cleanup(items, isBatch: json.kind != .object, server, sink)
        } else if pattern.hasSuffix("/cleanup") {
            try cleanup([json], isBatch: false, server, sink)
        } else if pattern.hasSuffix("/status") || pattern.hasSuffix("/status/") {
            try status(json, server, sink)
        } else {
            let isBatch = pattern.hasSuffix("/batch")
            let tracking = try Tracking(request, server: server, host: host)
            var list: [Registration] = []
            for (index, item) in (isBatch ? try batch(json) : [json]).enumerated() {
                list.append(
                    try Registration(
                        item, path: isBatch ? "[\(index)]" : "", server: server, host: host))
            }
            // One that cannot be used fails for itself.
            guard !list.allSatisfy(\.isUnusable) else {
                throw Fault.userID(path: isBatch ? "[0]." : "").error
            }
            try register(list, isBatch: isBatch, tracking, server, sink)
        }
    }

    private func batch(_ json: JSON) throws(PluginError) -> [JSON] {
        let items = json.elements
        guard json.kind == .array, (1...Self.batchMax).contains(items.count) else {
            throw Fault.batch.error
        }
        return items
    }

    // MARK: Registration

    private func register(
        _ list: [Registration], isBatch: Bool, _ tracking: Tracking, _ server: Config.Server,
        _ sink: borrowing IngestSink
    ) throws(PluginError) {
        let answer = Self.answer(list, isBatch: isBatch, tracking)
        let known = list.filter(\.isAuthorized)
        counters.unauthorized.add(UInt64(list.count - known.count))
        guard !known.isEmpty else {
            try sink.respond(202, headers: answer.headers, body: answer.body)
            return
        }
        let open = try sink.deferred(timeoutMs: 10_000)
        let run = RegistrationRun(self, known, tracking, server, open) {
            () throws(PluginError) in
            try open.respond(202, headers: answer.headers, body: answer.body)
            open.finish()
        }
        run.start()
    }

    private static func answer(
        _ list: [Registration], isBatch: Bool, _ tracking: Tracking
    ) -> (headers: [(String, String)], body: [UInt8]) {
        guard tracking.isTracked else { return ([], []) }
        var out = JSONWriter()
        func write(_ registration: Registration, to out: inout JSONWriter) {
            out.object { $0.member("RegistrationRequestId", registration.requestID) }
        }
        if isBatch {
            out.array { out in for one in list { write(one, to: &out) } }
        } else if let one = list.first {
            write(one, to: &out)
        }
        return ([("content-type", "application/json")], out.bytes)
    }

    /// The event that makes the dry run; the device carries everything needed for its outcome.
    func event(_ one: Registration, _ tracking: Tracking) -> Event {
        var device = Device(platform: one.platform, token: one.token)
        device.app = one.app.app
        device.user = one.user
        device.attributes = [
            ("mobile_app_id", one.app.mobileAppID), ("since", String(one.sinceMs)),
        ]
        if tracking.isTracked { device.attributes.append(("track", "true")) }
        if !tracking.callbackURL.isEmpty {
            device.attributes.append(("callback_url", tracking.callbackURL))
            device.attributes.append(("callback_headers", tracking.callbackHeaders))
        }
        var event = Event(type: "registration.requested", data: "{}")
        event.subject = "registration/\(one.requestID)"
        event.recipients = [Recipient(device)]
        event.dedupe = dryRuns.key(of: one, tracking.outcome(of: one))
        event.dedupeWindowMs = DryRuns.windowMs
        return event
    }

    // MARK: Status

    static func statusKey(_ app: String, _ id: String) -> String {
        "status/\(app.lowercased())/\(id.lowercased())"
    }

    private func status(
        _ json: JSON, _ server: Config.Server, _ sink: borrowing IngestSink
    ) throws(PluginError) {
        let reader = Reader(json: json, path: "")
        try reader.checkObject()
        let app = try reader.app(server)
        guard try host.secretEquals(app.token, try reader.text("ApiToken")) else {
            throw Fault.apiToken.error
        }
        guard let list = json["RegistrationRequestIds"], list.kind == .array,
            (1...Self.batchMax).contains(list.count)
        else {
            throw Fault.wrong(
                path: "RegistrationRequestIds", what: "must be a list of 1 to 100 ids"
            ).error
        }
        var ids: [String] = []
        for (index, item) in list.elements.enumerated() {
            guard let id = item.string, !id.isEmpty, id.utf8.count <= 64 else {
                throw Fault.wrong(
                    path: "RegistrationRequestIds[\(index)]", what: "must be text"
                ).error
            }
            ids.append(id)
        }
        let open = try sink.deferred(timeoutMs: 10_000)
        let gather = Gather<String>(count: ids.count) { found in
            open.attempt { () throws(PluginError) in
                var out = JSONWriter()
                out.array { out in
                    // Unknown ids are pending, as are requests with a wrong ApiToken.
                    for text in found { out.raw(text ?? #"{"Status":"Pending"}"#) }
                }
                try open.respond(
                    200, headers: [("content-type", "application/json")], body: out.bytes)
                open.finish()
            }
        }
        for (index, id) in ids.enumerated() {
            host.value(Self.statusKey(app.mobileAppID, id)) { result in
                switch result {
                case .success(let bytes):
                    gather.set(index, bytes.map { String(decoding: $0, as: UTF8.self) })
                case .failure(let error): open.finish(PluginError(.again, error.message))
                }
            }
        }
    }

    // MARK: Cleanup

    private func cleanup(
        _ items: [JSON], isBatch: Bool, _ server: Config.Server, _ sink: borrowing IngestSink
    ) throws(PluginError) {
        var changes: [(app: Config.App, change: DeviceChange)] = []
        var unusable = 0
        for (index, item) in items.enumerated() {
            let reader = Reader(json: item, path: isBatch ? "[\(index)]" : "")
            try reader.checkObject()
            let app = try reader.app(server)
            let apiToken = try reader.text("ApiToken")
            let user = try reader.user()
            let token = try reader.text("DeviceToken", isRequired: false)
            guard let user else {
                unusable += 1
                sink.reject("bad_user", "UserId has control characters or is over 256 bytes")
                continue
            }
            guard try host.secretEquals(app.token, apiToken) else {
                counters.unauthorized.add()
                continue
            }
            var device = Device()
            device.app = app.app
            device.user = user
            device.token = token
            changes.append((app, DeviceChange(.unregistered, device)))
            // Registration converts APNs tokens to lower case.
            if token != token.lowercased(), token.allSatisfy(\.isHexDigit) {
                device.token = token.lowercased()
                changes.append((app, DeviceChange(.unregistered, device)))
            }
        }
        guard unusable < items.count else {
            throw Fault.userID(path: isBatch ? "[0]." : "").error
        }
        guard !changes.isEmpty else { return try sink.respond(202) }
        remove(changes, try sink.deferred(timeoutMs: 10_000))
    }

    /// Removes devices, also those whose dry run has not ended yet.
    private func remove(
        _ changes: [(app: Config.App, change: DeviceChange)], _ open: DeferredIngest
    ) {
        let gather = Gather<[DeviceChange]>(count: changes.count) { found in
            open.attempt { () throws(PluginError) in
                let own = found.flatMap { $0 ?? [] }
                if !own.isEmpty { try open.change(own) }
                try open.respond(202)
                open.finish()
            }
        }
        for (index, (app, change)) in changes.enumerated() {
            cleanups.note(app, user: change.device.user, token: change.device.token) { result in
                if case .failure(let error) = result {
                    return open.finish(PluginError(.again, error.message))
                }
                self.host.devices(app: app.app, user: change.device.user) { known in
                    switch known {
                    case .success(let devices):
                        gather.set(index, Self.own(change, app, among: devices))
                    case .failure(let error): open.finish(PluginError(.again, error.message))
                    }
                }
            }
        }
    }

    /// What a cleanup may remove of a user's devices: those that were registered here for the app. Whoever has the app knows its
    /// ApiToken.
    private static func own(
        _ change: DeviceChange, _ app: Config.App, among devices: [Device]
    ) -> [DeviceChange] {
        let token = change.device.token
        let meant = devices.filter { token.isEmpty || $0.token == token }
        let own = meant.filter { $0.attribute("mobile_app_id") == app.mobileAppID }
        return own.count == meant.count
            ? [change] : own.map { DeviceChange(.unregistered, $0) }
    }

    // MARK: Messages

    /// `{MobileAppId, ApiToken, UserId, Title, Body, ImageUrl, Link, OriginalLink, TrackingId}`: the
    /// gateway's own way to send a journey's message.
    private func message(
        _ json: JSON, _ server: Config.Server, _ sink: borrowing IngestSink
    ) throws(PluginError) {
        let reader = Reader(json: json, path: "")
        try reader.checkObject()
        let app = try reader.app(server)
        guard try host.secretEquals(app.token, try reader.text("ApiToken")) else {
            throw PluginError(.auth, "ApiToken is not that of the app")
        }
        guard let user = try reader.user() else { throw Fault.userID(path: "").error }
        var data = JSONWriter()
        var faults: PluginError?
        data.object { out in
            for (key, name) in Message.fields {
                do throws(PluginError) {
                    let isText = ["Title", "Body"].contains(key)
                    let text =
                        isText
                        ? try reader.words(key, isRequired: key == "Body")
                        : try reader.text(key, isRequired: false)
                    out.member(name, text)
                } catch {
                    faults = error
                }
            }
        }
        if let faults { throw faults }
        var event = Event(type: "message.requested", data: data.text)
        event.subject = "user/\(user)"
        event.recipients = [Recipient(user: user, app: app.app)]
        try sink.emit(event)
        try sink.respond(202)
    }
}

/// Looks up registrations and decides which need a dry run.
final class RegistrationRun: Sendable {
    private let plugin: CustomerInsights
    private let list: [Registration]
    private let tracking: Tracking
    private let server: Config.Server
    private let open: DeferredIngest
    private let done: @Sendable () throws(PluginError) -> Void

    init(
        _ plugin: CustomerInsights, _ list: [Registration], _ tracking: Tracking,
        _ server: Config.Server, _ open: DeferredIngest,
        done: @escaping @Sendable () throws(PluginError) -> Void
    ) {
        self.plugin = plugin
        self.list = list
        self.tracking = tracking
        self.server = server
        self.open = open
        self.done = done
    }

    /// Decides what needs no provider: tokens that are too long or already registered.
    func start() {
        let gather = Gather<FailureReason>(count: list.count) { self.decided($0) }
        for (index, one) in list.enumerated() {
            let isLong =
                one.platform == "ios"
                ? one.token.utf8.count > server.apnsTokenMax : one.token.utf8.count > 4_096
            guard !isLong, !one.isUnusable else {
                gather.set(index, isLong ? .deviceTokenTooLong : .failedToStoreDevice)
                continue
            }
            // By the user, since another one may have the same token.
            plugin.host.devices(app: one.app.app, user: one.user) { result in
                switch result {
                case .success(let devices):
                    let isThere = devices.contains {
                        $0.token == one.token
                            && $0.attribute("mobile_app_id") == one.app.mobileAppID
                    }
                    gather.set(index, isThere ? .duplicateExists : nil)
                case .failure(let error): self.open.finish(PluginError(.again, error.message))
                }
            }
        }
    }

    private func decided(_ failures: [FailureReason?]) {
        let failed = zip(list, failures).compactMap { one, reason in reason.map { (one, $0) } }
        let gather = Gather<Bool>(count: max(1, failed.count)) { _ in self.finish(failures) }
        if failed.isEmpty { gather.set(0, nil) }
        for (index, (one, reason)) in failed.enumerated() {
            plugin.record(tracking.outcome(of: one), reason, server) { fault in
                if let fault {
                    self.open.finish(PluginError(.again, fault.message))
                } else {
                    gather.set(index, true)
                }
            }
        }
    }

    private func finish(_ failures: [FailureReason?]) {
        open.attempt { () throws(PluginError) in
            for (one, reason) in zip(list, failures) where reason == nil {
                try open.emit(plugin.event(one, tracking))
            }
            try done()
        }
    }
}

/// Waits for a number of answers.
final class Gather<Value: Sendable>: Sendable {
    private let state: Mutex<(values: [Value?], left: Int)>
    private let done: @Sendable ([Value?]) -> Void

    init(count: Int, done: @escaping @Sendable ([Value?]) -> Void) {
        state = Mutex((Array(repeating: nil, count: count), count))
        self.done = done
    }

    func set(_ index: Int, _ value: Value?) {
        let all = state.withLock { state -> [Value?]? in
            state.values[index] = value
            state.left -= 1
            return state.left == 0 ? state.values : nil
        }
        if let all { done(all) }
    }
}
