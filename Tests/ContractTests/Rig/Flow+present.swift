import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Synchronization

extension Flow {
    /// Runs the flow through the current host.
    func run(
        library: String, services: RigServices = RigServices(nowUnixMs: Self.nowUnixMs)
    ) async throws -> Transcript {
        let loaded = try PluginLibrary.load(library)
        var out = Transcript()
        out.add(
            "plugin \(loaded.descriptor.id) \(loaded.descriptor.version) "
                + "roles=\(loaded.descriptor.roles.joined(separator: ",")) "
                + "needs=\(loaded.descriptor.needs.joined(separator: ","))")
        var values: [String: [UInt8]] = [:]
        for name in secrets { values[name] = Array("value of \(name)".utf8) }
        let instance = try await PluginRig.instance(
            of: library, config: try JSONValue.parse(config), secrets: values, services: services)
        out.lines += services.lines.map { "log \($0)" }
        let logged = services.lines.count
        let events = try await ingest(instance, &out)
        let deliveries = try build(instance, events, &out)
        if let role = SendHTTPRole(instance) { try await send(role, deliveries, &out) }
        if let role = SendRole(instance) { try submit(role, deliveries, &out) }
        if let role = RegisterRole(instance) { try await report(role, events, &out) }
        guard await instance.stop(deadlineMs: 5_000), services.faults.isEmpty else {
            throw PluginRig.Failure(description: "it did not end well: \(services.faults)")
        }
        out.lines += services.lines.dropFirst(logged).map { "log \($0)" }
        return out
    }

    private func ingest(_ instance: PluginInstance, _ out: inout Transcript) async throws
        -> [Event]
    {
        guard let role = try await IngestRole(instance, limits: Limits()) else { return [] }
        for path in role.paths {
            out.add("path \(path.pattern) \(path.methods.joined(separator: ","))")
        }
        var events: [Event] = []
        for body in bodies {
            var request = IngestRequest(
                method: "POST", path: path, pattern: pattern, body: Array(body.utf8),
                receivedUnixMs: Self.nowUnixMs - 1000)
            request.query = "q=1"
            request.remote = "192.0.2.1"
            request.clientCertificate = "CN=shop"
            request.params = [Attribute("shop", "garden")]
            request.headers = headers
            let once = Once<IngestResult>()
            role.handle(request) { once.set($0) }
            let result = await once.value() ?? IngestResult()
            out.add(result)
            events += result.events
        }
        return events
    }

    private func build(
        _ instance: PluginInstance, _ events: [Event], _ out: inout Transcript
    ) throws -> [Delivery] {
        guard let role = BuildRole(instance) else { return [] }
        var deliveries: [Delivery] = []
        for event in events where !event.recipients.isEmpty {
            out.add("build \(event.type)")
            let built = try role.build(
                event, recipients: event.recipients, route: "r", options: "{}"
            ).get()
            out.add(built)
            for content in built.contents {
                let shared = SharedNotification(content.notification, receivedUnixMs: 0)
                for target in content.targets {
                    let place = UInt64(deliveries.count)
                    deliveries.append(
                        Delivery(
                            id: 100 + place, eventID: 1, route: "r", sender: "s",
                            stableID: "stable-\(place)", attempt: UInt32(place) + 1,
                            badge: target.badge, deadlineUnixMs: Self.nowUnixMs + 5000 + place,
                            content: shared, device: event.recipients[target.recipient].device))
                }
            }
        }
        return deliveries
    }

    /// One answer to each request: 200, 410 and 503 in turn.
    private func answers(to batch: RequestBatch) -> [HTTPResponse] {
        batch.requests.enumerated().map { index, request in
            HTTPResponse(
                status: [200, 410, 503][index % 3], headers: [Attribute("retry-after", "7")],
                body: Array("answer \(index)".utf8),
                items: request.items.map { batch.items[Int($0)] })
        }
    }

    private func taken(_ result: PrepareResult, _ out: inout Transcript) throws -> RequestBatch {
        switch result {
        case .ready(let batch, let settled):
            out.add(batch)
            out.add(settled)
            return batch
        case .again: throw PluginRig.Failure(description: "again")
        case .failed(let fault): throw fault
        }
    }

    private func send(
        _ role: SendHTTPRole, _ deliveries: [Delivery], _ out: inout Transcript
    ) async throws {
        out.add("send by \(role.maxBatch ?? 0)")
        for app in ["", "other"] {
            do {
                out.add(try await role.endpoint(app: app))
            } catch {
                out.add(fault: error, of: "endpoint")
            }
        }
        let batch = try taken(role.prepare(app: "", deliveries: deliveries), &out)
        if batch.requests.isEmpty { return }
        out.add(role.classify(app: "", responses: answers(to: batch)).settled)
    }

    private func submit(
        _ role: SendRole, _ deliveries: [Delivery], _ out: inout Transcript
    ) throws {
        out.add("submit by \(role.maxBatch ?? 0)")
        let heard = Mutex(Transcript())
        role.whenRoom { heard.withLock { $0.add("credit") } }
        var rest = deliveries[...]
        while !rest.isEmpty {
            let taken = try role.submit(app: "", deliveries: Array(rest)) { outcomes in
                heard.withLock { $0.add(outcomes) }
            }.get()
            out.lines += heard.withLock { heard in
                defer { heard.lines = [] }
                return heard.lines
            }
            guard taken > 0 else { throw PluginRig.Failure(description: "nothing was taken") }
            out.add("taken \(taken)")
            rest = rest.dropFirst(taken)
        }
    }

    private func report(
        _ role: RegisterRole, _ events: [Event], _ out: inout Transcript
    ) async throws {
        let kinds = DeviceChange.Kind.allCases.filter { role.wants($0) }.reduce(0) {
            $0 | 1 << $1.rawValue
        }
        out.add("register by \(role.maxBatch ?? 0) kinds=\(kinds)")
        out.add(try await role.endpoint(app: ""))
        let devices = events.first?.recipients.map(\.device) ?? []
        let deliveries = devices.enumerated().map { index, device in
            let change = DeviceChange(
                kind: .invalid, device: device, timeUnixMs: Self.nowUnixMs + UInt64(index),
                reason: "Unregistered")
            return Delivery(
                id: 200 + UInt64(index), eventID: 1, route: "", sender: "s", stableID: "x",
                deadlineUnixMs: 0, content: change.carrier(receivedUnixMs: 0), device: device)
        }
        let batch = try taken(role.prepare(app: "", deliveries: deliveries), &out)
        if batch.requests.isEmpty { return }
        out.add(role.classify(app: "", responses: answers(to: batch)).settled)
    }
}
