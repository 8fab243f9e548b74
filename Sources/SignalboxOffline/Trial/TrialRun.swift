internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxDispatch
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxPluginHost
internal import SignalboxThreads

/// A running trial: its instances, and the report so far.
struct TrialRun {
    let plan: GatewayPlan
    let plugins: [CheckedPlugin]
    let instances: InstanceSet
    let services: OfflineServices
    /// How often a credential got a new value.
    private let credentials = Gate(0)
    let nowUnixMs: UInt64
    let registry: (any DeviceRegistry)?
    /// Whether to invent devices for users without any.
    let inventsDevices: Bool
    /// The lowest level of plugins' log lines that are shown.
    let notesFrom: PluginLogLevel
    private(set) var report = TrialReport()

    init(
        plan: GatewayPlan, plugins: [CheckedPlugin], instances: InstanceSet,
        services: OfflineServices, nowUnixMs: UInt64, registry: (any DeviceRegistry)?,
        inventsDevices: Bool, notesFrom: PluginLogLevel
    ) {
        self.notesFrom = notesFrom
        self.plan = plan
        self.plugins = plugins
        self.instances = instances
        self.services = services
        self.nowUnixMs = nowUnixMs
        self.registry = registry
        self.inventsDevices = inventsDevices
        for instance in instances.instances {
            instance.whenCredentialReady { [credentials] in credentials.updateAll { $0 += 1 } }
            instance.fetchCredentials()
        }
    }

    /// Runs events through all routes.
    var routes: TrialRoutes {
        TrialRoutes(
            plan: plan, plugins: plugins, instances: instances, services: services,
            credentials: credentials, nowUnixMs: nowUnixMs)
    }

    mutating func take(_ given: RouteTest.Given) async throws {
        var events: [Event] = []
        switch given {
        case .webhook(let webhook): events = try await take(webhook)
        case .event(let source, let json): events = try take(json, from: source)
        }
        for (index, event) in events.enumerated() {
            var event = event
            event.id = UInt64(index + 1)
            let (resolved, invented) = try await resolve(event)
            var one = await routes.follow(resolved, invented: invented)
            one.recipientCount = event.recipients.count
            report.events.append(one)
        }
        report.calls = services.calls
        report.notes =
            services.takeLines().filter { $0.level >= notesFrom }.map {
                "\($0.instance): \($0.text)"
            }
            + services.misdeeds
    }

    // MARK: Input

    private func take(_ json: JSONValue, from source: String) throws -> [Event] {
        let known = plan.config.gateway.sources + plugins.filter(\.isAnySource).map(\.name)
        guard known.contains(source) else {
            throw TrialFault(
                message: source.isEmpty
                    ? "say which source the event is from; known: \(known.joined(separator: ", "))"
                    : "unknown source \"\(source)\"\(Suggestion.hint(for: source, among: known))")
        }
        return try read(json, of: source).map { event in
            var event = event
            event.source = source
            if event.timeUnixMs == 0 { event.timeUnixMs = nowUnixMs }
            event.parsed = JSONText(parsing: event.data).parsed
            if event.recipients.isEmpty, inventsDevices {
                event.recipients = [Recipient(device: Device(user: "somebody"))]
            }
            return event
        }
    }

    private func read(_ json: JSONValue, of source: String) throws -> [Event] {
        do throws(SubmitError) {
            return try EventJSON.read(json)
        } catch {
            guard plugins.contains(where: { $0.name == source && $0.isSource }) else { throw error }
            throw TrialFault(
                message: "\(error); give the event that \"\(source)\" makes of a message, "
                    + "with type, recipients and the rest: its decoding is not tried here")
        }
    }

    private mutating func take(_ webhook: RouteTest.Webhook) async throws -> [Event] {
        let (request, role) = try request(webhook)
        let result = await withCheckedContinuation { continuation in
            services.onWorker { role.handle(request) { continuation.resume(returning: $0) } }
        }
        var shown = TrialReport.Webhook(
            instance: role.instanceName, path: request.path, status: result.httpAnswer.status)
        shown.fault = result.fault?.message
        shown.rejects = result.rejects.map { ($0.reason, $0.detail) }
        shown.changes = result.changes.map { ("\($0.kind)", $0.device.user) }
        report.webhook = shown
        return result.fault == nil ? result.events : []
    }

    private func request(
        _ webhook: RouteTest.Webhook
    ) throws(TrialFault) -> (IngestRequest, any Ingesting) {
        let owned = instances.ingesters.filter { role in
            webhook.plugin.isEmpty || role.instanceName == webhook.plugin
        }
        guard let first = owned.first(where: { !$0.paths.isEmpty })?.paths.first else {
            throw TrialFault(
                message: webhook.plugin.isEmpty
                    ? "no plugin takes webhooks" : "\"\(webhook.plugin)\" takes no webhooks")
        }
        let path = webhook.path ?? Self.filled(first.pattern)
        guard !webhook.plugin.isEmpty || webhook.path != nil else {
            throw TrialFault(message: "say which instance gets it, or under which path it comes")
        }
        let method =
            webhook.method
            ?? (first.methods.contains("POST") ? "POST" : first.methods.first ?? "POST")
        switch instances.paths.find(method: method, path: path) {
        case .none:
            // Does not list the existing paths, since a part of one may be secret.
            throw TrialFault(
                message: "nothing is served under \(path); name the instance (plugin), or see the "
                    + "paths in gateway.yaml")
        case .wrongMethod(let allowed):
            throw TrialFault(message: "\(path) takes \(allowed.joined(separator: ", "))")
        case .match(let match):
            var request = IngestRequest(
                method: method, path: path, pattern: match.pattern,
                body: webhook.body.map { Array(($0.string ?? $0.text).utf8) } ?? [],
                receivedUnixMs: nowUnixMs)
            request.query = webhook.query
            request.params = match.params
            request.headers = webhook.headers
            if !request.headers.contains(where: { $0.key == "content-type" }) {
                request.headers.append(Attribute("content-type", "application/json"))
            }
            return (request, match.owner)
        }
    }

    /// A path that matches a pattern: `/orgs/org` for `/orgs/{org}`.
    private static func filled(_ pattern: String) -> String {
        String(pattern.filter { $0 != "{" && $0 != "}" })
    }

    // MARK: Devices

    /// The event with devices as recipients, and which of these are invented.
    private func resolve(_ event: Event) async throws -> (Event, invented: Set<String>) {
        var event = event
        event.mendRecipients()
        let users = NamedUsers(in: [event], [])
        var known = users.keys.map { key in
            services.devices { key.owns($0) }.map { device in
                let isOnline = device.attributes.contains(Attribute("online", "true"))
                return RegisteredDevice(device: device, isOnline: isOnline)
            }
        }
        let missing = known.indices.filter { known[$0].isEmpty }
        if let registry, !missing.isEmpty {
            let found = await withCheckedContinuation { continuation in
                let keys = missing.map { users.keys[$0] }
                registry.devices(of: keys) { continuation.resume(returning: $0) }
            }
            for (place, devices) in zip(missing, try found.get()) { known[place] = devices }
        }
        var invented: Set<String> = []
        if inventsDevices {
            for place in known.indices where known[place].isEmpty {
                known[place] = platforms(for: event.source).map { platform in
                    let device = Self.inventedDevice(
                        platform, users.keys[place], number: invented.count + 1)
                    invented.insert(device.token)
                    return RegisteredDevice(device: device)
                }
            }
        }
        var (events, changes) = ([event], [DeviceChange]())
        users.resolve(&events, &changes, known)
        return (events[0], invented)
    }

    /// Platforms that routes of a source send to.
    private func platforms(for source: String) -> [String] {
        let routes = plan.routes.filter { $0.sources.contains(source) }
        return Set(routes.flatMap(\.senders.keys)).sorted()
    }

    private static func inventedDevice(_ platform: String, _ user: UserKey, number: Int) -> Device {
        let digits = String(number, radix: 16)
        let token = String(repeating: "0", count: 64 - digits.count) + digits
        return Device(app: user.app, platform: platform, token: token, user: user.user)
    }
}
