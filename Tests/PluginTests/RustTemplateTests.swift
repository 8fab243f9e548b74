import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Synchronization
import Testing

/// The project templates for Rust: each is built as an author would, and does its work.
@Suite struct RustTemplateTests {
    let services = RigServices(nowUnixMs: 1_767_323_045_000)
    static let token: [String: [UInt8]] = ["token": Array("token-of-the-sender".utf8)]

    /// A started instance of a template's plugin.
    private func instance(
        _ role: String, config: String, secrets: [String: [UInt8]] = token
    ) async throws -> PluginInstance {
        let name = "Template_" + role.replacingOccurrences(of: "-", with: "_")
        let library = try await RustRig.template(role, name: name)
        #expect(try PluginLibrary.load(library).descriptor.id == "org.example.\(name.lowercased())")
        let symbols = try await RustRig.tool(["nm", "-D", "--defined-only", library])
        #expect(symbols.hasSuffix(" T sbx_plugin_entry_v1\n"))
        #expect(symbols.split(separator: "\n").count == 1, "\(symbols)")
        return try await PluginRig.instance(
            of: library, config: try JSONValue.parse(config), secrets: secrets, services: services)
    }

    private func end(_ instance: PluginInstance) async {
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    private func delivery(_ id: UInt64, _ note: PushNotification) -> Delivery {
        Delivery(
            id: id, eventID: 1, route: "r", sender: "s", stableID: "stable-\(id)",
            deadlineUnixMs: 0, content: SharedNotification(note, receivedUnixMs: 0),
            device: Device(platform: "ios", token: "t\(id)"))
    }

    @Test func `ingest: a message becomes an event for its user`() async throws {
        let instance = try await instance("ingest", config: #"{"path":"/in/m","token":"token"}"#)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        #expect(role.paths == [IngestPath(pattern: "/in/m", methods: ["POST"])])
        for (body, bearer, kind) in [
            (#"{"id":"1","user":"u","text":"hi \"there\""}"#, "token-of-the-sender", nil),
            (#"{"id":"1","user":"u","text":"hi"}"#, "token", PluginFault.Kind.auth),
            (#"{"id":"1","user":"","text":"hi"}"#, "token-of-the-sender", .invalid),
            ("[", "token-of-the-sender", .invalid),
        ] {
            var request = IngestRequest(
                method: "POST", path: "/in/m", pattern: "/in/m", body: Array(body.utf8),
                receivedUnixMs: 5)
            request.headers = [Attribute("authorization", "Bearer \(bearer)")]
            let once = Once<IngestResult>()
            role.handle(request) { once.set($0) }
            let result = try #require(await once.value())
            #expect(result.fault?.kind == kind)
            guard kind == nil else { continue }
            let event = try #require(result.events.first)
            #expect(event.type == "message.sent" && event.dedupe == "1")
            #expect(event.recipients.map(\.device.user) == ["u"])
            #expect(event.data == #"{"text":"hi \"there\""}"#)
        }
        await end(instance)
    }

    @Test func `build: text is cut, and who has muted it is left out`() async throws {
        let instance = try await instance("build", config: "{}")
        let role = try #require(BuildRole(instance))
        let recipients = ["false", "true", ""].map {
            Recipient(device: Device(token: "t"), attributes: [Attribute("muted", $0)])
        }
        let built = try role.build(
            Event(type: "t", data: #"{"text":"äöü€!"}"#), recipients: recipients, route: "r",
            options: #"{"title":"T","length":3}"#
        ).get()
        let content = try #require(built.contents.first)
        #expect(content.notification.title == "T" && content.notification.body == "äöü…")
        #expect(content.targets.map(\.recipient) == [0, 2])
        let muted = try role.build(
            Event(type: "t", data: #"{"text":"x"}"#), recipients: [recipients[1]], route: "r",
            options: "{}"
        ).get()
        #expect(muted.contents.isEmpty)
        await end(instance)
    }

    @Test func `send-http: notifications are posted, answers classified`() async throws {
        let instance = try await instance(
            "send-http",
            config: #"{"endpoint":"https://push.example.com","path":"/m","token":"token"}"#)
        let role = try #require(SendHTTPRole(instance))
        #expect(try await role.endpoint(app: "").origin == "https://push.example.com")
        var note = PushNotification()
        note.title = "T"
        note.body = "say \"hi\""
        guard
            case .ready(let batch, let settled) = role.prepare(
                app: "", deliveries: [delivery(1, note), delivery(2, note)])
        else {
            Issue.record("the batch was not taken")
            return
        }
        #expect(settled.isEmpty)
        let requests = batch.requests.map { RenderedRequest($0, in: batch) }
        #expect(requests.map(\.items) == [[1], [2]])
        #expect(requests.map(\.path) == ["/m", "/m"])
        #expect(requests[1].text == #"{"to":"t2","title":"T","body":"say \"hi\""}"#)
        #expect(requests[1].headers["authorization"] == "Bearer token-of-the-sender")
        #expect(requests[1].headers["idempotency-key"] == "stable-2")
        for (status, kind) in [
            (200, Outcome.Kind.delivered), (410, .unregistered), (429, .throttled), (500, .retry),
            (401, .config), (400, .rejected),
        ] {
            let (outcomes, _) = role.classify(
                app: "",
                responses: [
                    HTTPResponse(
                        status: UInt32(status), headers: [Attribute("retry-after", "7")], body: [],
                        items: [9])
                ])
            let outcome = try #require(outcomes.first)
            #expect(outcome.kind == kind && outcome.item == 9)
            #expect(outcome.providerCode == UInt32(status))
            if status == 429 { #expect(outcome.retryAfterMs == 7_000) }
        }
        await end(instance)
    }

    @Test func `register: dead tokens go back as they came`() async throws {
        let instance = try await instance(
            "register",
            config: #"{"endpoint":"https://api.example.com","path":"/d","token":"token"}"#)
        let role = try #require(RegisterRole(instance))
        #expect(role.wants(.invalid) && !role.wants(.registered))
        let changes = (1...2).map { index in
            DeviceChange(
                kind: .invalid,
                device: Device(platform: "ios", token: "t\(index)", sourceToken: "<T\(index)>"),
                timeUnixMs: 5)
        }
        let deliveries = changes.enumerated().map { index, change in
            Delivery(
                id: UInt64(index + 1), eventID: 1, route: "", sender: "s", stableID: "x",
                deadlineUnixMs: 0, content: change.carrier(receivedUnixMs: 0), device: change.device
            )
        }
        guard case .ready(let batch, _) = role.prepare(app: "", deliveries: deliveries) else {
            Issue.record("the batch was not taken")
            return
        }
        let request = try #require(batch.requests.first.map { RenderedRequest($0, in: batch) })
        #expect(batch.requests.count == 1 && request.items == [1, 2])
        #expect(request.text == #"{"tokens":["<T1>","<T2>"]}"#)
        let (outcomes, _) = role.classify(
            app: "", responses: [HTTPResponse(status: 204, headers: [], body: [], items: [1, 2])])
        #expect(outcomes.map(\.kind) == [.delivered, .delivered])
        await end(instance)
    }

    @Test func `send: lines reach a file, and no folder is a reason to try again`() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "pushes.txt")
        let instance = try await instance(
            "send", config: #"{"file":"\#(file.path)"}"#, secrets: [:])
        let role = try #require(SendRole(instance))
        let outcomes = Mutex<[Outcome]>([])
        var note = PushNotification()
        note.body = "B"
        let early = role.submit(app: "", deliveries: [delivery(1, note)]) { more in
            outcomes.withLock { $0 += more }
        }
        #expect(try early.get() == 1)
        await services.waitFor { outcomes.withLock { $0.count == 1 } }
        #expect(outcomes.withLock { $0.map(\.kind) } == [.retry])

        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let more = role.submit(app: "", deliveries: (2...4).map { delivery($0, note) }) { more in
            outcomes.withLock { $0 += more }
        }
        #expect(try more.get() == 3)
        await services.waitFor { outcomes.withLock { $0.count == 4 } }
        #expect(outcomes.withLock { $0.dropFirst().map(\.item) } == [2, 3, 4])
        #expect(outcomes.withLock { $0.dropFirst().allSatisfy { $0.kind == .delivered } })
        let lines = (2...4).map { #"{"to":"t\#($0)","body":"B"}"# + "\n" }
        #expect(try String(contentsOf: file, encoding: .utf8) == lines.joined())
        await end(instance)
    }
}
