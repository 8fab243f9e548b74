import PluginRig
import SignalboxCore
import SignalboxJSON
import Synchronization
import Testing

@testable import SignalboxPluginHost

/// A plugin with every role behaves the same in its own process as in this one.
@Suite struct IsolatedRoleTests {
    static let library = Task.detached {
        try await PluginRig.compileFixture("Isolation/everything.c")
    }

    /// Where a plugin may run: in this process, in its own, in a sandbox.
    static let places: [Confinement?] = [nil, .process, .sandbox]

    /// An instance with its roles, in this process or its own.
    struct Hosted {
        let instance: any HostedInstance
        let roles: PluginRoles
        let services: RigServices

        init(_ place: Confinement?, _ services: RigServices) async throws {
            self.services = services
            let library = try await IsolatedRoleTests.library.value
            let secrets = ["key": Array("opener".utf8)]
            let config = try JSONValue.parse(#"{"key":"key"}"#)
            if let place {
                instance = try await PluginRig.isolated(
                    library, config: config, secrets: secrets, services: services,
                    confinement: place)
            } else {
                instance = try await PluginRig.instance(
                    of: library, config: config, secrets: secrets, services: services)
            }
            roles = try await instance.roles(limits: Limits())
        }
    }

    /// Checks that the result of `body` does not depend on where the plugin runs.
    func same(
        _ services: @Sendable () -> RigServices = { RigServices() },
        _ body: (Hosted) async throws -> String
    ) async throws {
        var found: [String] = []
        for place in Self.places {
            let hosted = try await Hosted(place, services())
            found.append(try await body(hosted) + "\n\(hosted.services.faults)")
            #expect(await hosted.instance.stop(deadlineMs: 5_000))
        }
        #expect(found[0] == found[1])
        #expect(found[0] == found[2])
    }

    static func words(_ value: some Any) -> String {
        var out = ""
        dump(value, to: &out)
        return out
    }

    static func deliveries(_ tokens: [String], attempt: UInt32 = 1) -> [Delivery] {
        var note = PushNotification()
        note.title = "T\"ü"
        let shared = SharedNotification(note, receivedUnixMs: 0)
        return tokens.enumerated().map { index, token in
            Delivery(
                id: UInt64(index + 1), eventID: 9, route: "r", sender: "s", stableID: "id-\(index)",
                attempt: attempt, deadlineUnixMs: 77,
                content: index == 3 ? SharedNotification(note, receivedUnixMs: 0) : shared,
                device: Device(app: "app", platform: "ios", token: token))
        }
    }

    static func request(_ body: String) -> IngestRequest {
        var request = IngestRequest(
            method: "POST", path: "/every/one", pattern: "/every/{thing}", body: Array(body.utf8),
            receivedUnixMs: 1_234)
        request.params = [Attribute("thing", "one")]
        request.headers = [Attribute("x-a", "b"), Attribute("x-c", "d")]
        request.query = "q=1"
        request.remote = "10.0.0.1"
        return request
    }

    static func handle(_ hosted: Hosted, _ body: String) async throws -> IngestResult {
        let ingest = try #require(hosted.roles.ingest)
        let once = Once<IngestResult>()
        ingest.handle(request(body)) { once.set($0) }
        return try #require(await once.value())
    }

    @Test func `requests become events, changes, rejects and an answer`() async throws {
        try await same { hosted in
            #expect(hosted.roles.ingest?.paths.map(\.pattern) == ["/every/{thing}"])
            var out = ""
            for body in ["plain", "refuse", "defer", "defer briefly", ""] {
                out += Self.words(try await Self.handle(hosted, body))
            }
            #expect(out.contains("did not finish the request within") && out.contains("x.late"))
            return out
        }
    }

    @Test func `every service answers`() async throws {
        let server: RigServices.Server = { call in
            .success(
                PluginHTTPAnswer(
                    status: 203, headers: [Attribute("x", "y")], body: Array("pong".utf8)))
        }
        try await same({ RigServices(server: server) }) { hosted in
            let result = try await Self.handle(hosted, "services")
            let text = String(decoding: result.answer?.body ?? [], as: UTF8.self)
            for line in [
                "secret 0 opener", "sign 0", "verify 0", "forged -7", "hmac 0", "no half -3",
                "no key -3", "zone 0",
                "offset 32400", "no zone -8", "no credential -8", "put 0", "value 0 kept",
                "added 0 9", "added 0 7", "added -3 0", "replaced -5 kept", "replaced -8 ",
                "replaced -5 kept", "replaced 0 kept", "replaced 0 ", "none asked -3",
                "too many -3", "keyless -3",
                "key 0 k\nkey 0 m\nvalue",
                "call 0 203 pong", "changed 0", "device 0 t9",
            ] {
                #expect(text.contains(line), "\(text)")
            }
            await hosted.services.waitFor { hosted.services.counts["level"] != nil }
            #expect(hosted.services.counts["seen_total"] == 7)
            #expect(hosted.services.counts["level"] == -5)
            #expect(hosted.services.lines.contains("test info a line k=v"))
            #expect(hosted.services.calls.map(\.url) == ["https://x/y"])
            // The clock has moved between the two runs.
            return text.split(separator: "\n").filter { !$0.hasPrefix("time") }
                .joined(separator: "\n")
        }
    }

    @Test func `a clock that goes its own way is followed`() async throws {
        try await same({ RigServices(nowUnixMs: 1_000_000_000_000) }) { hosted in
            let result = try await Self.handle(hosted, "services")
            let text = String(decoding: result.answer?.body ?? [], as: UTF8.self)
            #expect(text.contains("time 0 1000000\n"), "\(text)")
            hosted.services.advance(ms: 7_000_000_000)
            let later = try await Self.handle(hosted, "services")
            let words = String(decoding: later.answer?.body ?? [], as: UTF8.self)
            #expect(words.contains("time 0 1007000\n"), "\(words)")
            return text + words
        }
    }

    @Test func `events become notifications`() async throws {
        try await same { hosted in
            let builder = try #require(hosted.roles.build)
            let recipients = (0..<4).map { index in
                Recipient(
                    device: Device(platform: "ios", token: "t\(index)"),
                    attributes: index == 1 ? [Attribute("muted", "yes")] : [])
            }
            let event = Event(source: "z", type: "x.y", subject: "s", data: #"{"d":1.50}"#)
            let refused = Event(source: "z", type: "x.y", subject: "refuse")
            return [event, refused].map { event in
                Self.words(
                    builder.build(
                        event, recipients: recipients, route: "r", options: #"{"o":1}"#))
            }.joined()
        }
    }

    @Test func `deliveries become requests, and answers outcomes`() async throws {
        try await same { hosted in
            let role = try #require(hosted.roles.sendHTTP)
            #expect(role.maxBatch == 600)
            var out = Self.words(try await role.endpoint(app: "a"))
            let fault = await #expect(throws: PluginFault.self) {
                try await role.endpoint(app: "nowhere")
            }
            out += "\(fault?.kind ?? .internal) \(fault?.message ?? "")"
            for tokens in [
                ["a", "b", "settle", "c", "forget"], ["refuse"], [],
                (0..<600).map { "many-\($0)" },
            ] {
                out += Self.words(await Self.prepared(role, Self.deliveries(tokens)))
            }
            let (settled, requests) = role.classify(
                app: "a",
                responses: [
                    HTTPResponse(
                        status: 200, headers: [Attribute("id", "7")], body: [65, 0, 200],
                        items: [1]),
                    HTTPResponse(status: 302, body: Array("there".utf8), items: [2]),
                    HTTPResponse(status: 500, items: [3]),
                ])
            return out + Self.words(settled) + Self.words(requests)
        }
    }

    /// Offers a batch until the credential is available.
    static func prepared(
        _ role: any Translating, _ deliveries: [Delivery]
    ) async -> PrepareResult {
        while true {
            let result = role.prepare(app: "a", deliveries: deliveries)
            guard case .again = result else { return result }
            await Task.yield()
        }
    }

    @Test func `changes become reports`() async throws {
        try await same { hosted in
            let role = try #require(hosted.roles.register)
            #expect(DeviceChange.Kind.allCases.filter { role.wants($0) } == [.invalid, .proven])
            #expect(role.maxBatch == 100)
            let changes = [DeviceChange.Kind.invalid, .proven].map {
                DeviceChange(
                    kind: $0, device: Device(token: "\($0)"), timeUnixMs: 5, reason: "Gone",
                    subject: "reg/1")
            }
            let deliveries = changes.enumerated().map { index, change in
                Delivery(
                    id: UInt64(index + 1), eventID: 1, route: "", sender: "s", stableID: "x",
                    deadlineUnixMs: 0, content: change.carrier(receivedUnixMs: 0),
                    device: change.device)
            }
            return Self.words(role.prepare(app: "", deliveries: deliveries))
        }
    }

    @Test func `a transport of the plugin's own gives an outcome for each`() async throws {
        try await same { hosted in
            let role = try #require(hosted.roles.send)
            #expect(role.maxBatch == 50)
            let room = Once<Bool>()
            role.whenRoom { room.set(true) }
            let outcomes = Mutex<[Outcome]>([])
            var out = ""
            var expected = 0
            for tokens in [["a", "b", "c"], ["half", "x", "y", "z"], ["full"], ["refuse"]] {
                let taken = role.submit(app: "a", deliveries: Self.deliveries(tokens)) { new in
                    outcomes.withLock { $0 += new }
                }
                expected += (try? taken.get()) ?? 0
                out += "\(taken) "
                let count = expected
                await hosted.services.waitFor { outcomes.withLock { $0.count } == count }
            }
            #expect(expected == 5)
            #expect(await room.value() == true)
            return out + Self.words(outcomes.withLock { $0 })
        }
    }

    @Test func `a refused credential is renewed`() async throws {
        try await same { hosted in
            let role = try #require(hosted.roles.sendHTTP)
            _ = await Self.prepared(role, Self.deliveries(["settle"]))
            let ready = Once<Bool>()
            hosted.instance.whenCredentialReady { ready.set(true) }
            // An empty name means the only credential.
            hosted.instance.credentialRefused("")
            #expect(await ready.value() == true)
            let again = await Self.prepared(role, Self.deliveries(["settle"]))
            guard case .ready(_, let settled) = again else { return "not ready" }
            #expect(settled.map(\.credential) == ["value-2"])
            return Self.words(settled)
        }
    }
}
