import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Synchronization
import Testing

@Suite struct DeviceTests {
    static let clients = """

        devices:
          clients:
            - { name: backend, token: token-of-backend-1, app: com.example.app, scopes: [read, write, presence, badge] }
            - { name: reader, token: token-of-reader-22, app: com.example.app, scopes: [read] }
            - { name: other, token: token-of-other-333, app: com.other, scopes: [read, write, presence] }
        """

    static func rig() async throws -> GatewayRig {
        try await GatewayRig(config: {
            GatewayRig.plugins($0) + clients + "\n" + GatewayRig.routes
        })
    }

    static func call(
        _ rig: GatewayRig, _ method: String, _ path: String, _ body: String = "",
        token: String? = "token-of-backend-1"
    ) async throws -> (status: UInt32, json: JSONValue, answer: RESTAnswer) {
        var call = RESTCall(
            method: method, url: "http://127.0.0.1:\(rig.gateway.port)\(path)",
            body: Array(body.utf8))
        if let token { call.headers = [Attribute("authorization", "Bearer \(token)")] }
        let answer = try await rig.client.patient(call)
        return (answer.status, (try? JSONValue.parse(answer.body)) ?? .null, answer)
    }

    static func register(
        _ rig: GatewayRig, _ user: String, _ token: String, platform: String = "ios",
        client: String = "token-of-backend-1"
    ) async throws -> JSONValue {
        let body =
            #"{"user":"\#(user)","token":"\#(token)","platform":"\#(platform)","locale":"de"}"#
        let (status, json, _) = try await call(rig, "POST", "/v1/devices", body, token: client)
        #expect(status == 200)
        return json
    }

    static func tokens(
        _ rig: GatewayRig, _ user: String, client: String = "token-of-backend-1"
    ) async throws -> [String] {
        let (status, json, _) = try await call(
            rig, "GET", "/v1/devices?user=\(user)", token: client)
        #expect(status == 200)
        guard case .array(let devices) = json["devices"] else { return [] }
        return devices.compactMap { $0["token"]?.string }
    }

    @Test
    func
        `an event for users with too many devices together is refused, and its neighbours are not`()
        async throws
    {
        let rig = try await GatewayRig(config: {
            GatewayRig.plugins($0).replacing(
                "drain: 5s", with: "drain: 5s, limits: { devices_per_event: 3 }, sources: [shop]"
            ).replacing("plugins:\n", with: "plugins:\n  texts: { library: Texts }\n")
                + Self.clients + "\n"
                + GatewayRig.routes.replacing("from: z", with: "from: [z, shop]").replacing(
                    "when: { type: ticket.replied }",
                    with: "build: { with: texts, set: { title: T } }")
        })
        for number in 1...4 { _ = try await Self.register(rig, "ann", "t\(number)") }
        _ = try await Self.register(rig, "bob", "b1")
        func event(_ user: String) -> Event {
            Event(
                type: "t", data: "{}",
                recipients: [Recipient(device: Device(app: "com.example.app", user: user))])
        }
        await #expect {
            _ = try await rig.gateway.submit([event("ann")], from: "shop")
        } throws: { error in
            "\(error)".contains("the event goes to 4 devices; at most 3")
        }
        _ = try await rig.gateway.submit([event("bob")], from: "shop")
        let four = GatewayRig.webhook((1...4).map { ("ios", "w\($0)") })
        #expect(try await rig.post(four).status == 413)
        #expect(try await rig.post(GatewayRig.webhook([("ios", "w1")])).status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 2).sorted() == ["b1", "w1"])
        #expect(
            rig.gateway.metricsText.contains(
                #"signalbox_events_total{source="z",result="too_many_devices"} 1"#))
        await rig.end()
    }

    @Test func `a platform is the same in capitals`() async throws {
        let rig = try await RegistryRig()
        try await rig.register("u", "00aa", platform: "ios")
        try await rig.register("u", "00aa", platform: "iOS")
        let (_, json) = try await rig.call("GET", "/v1/devices?user=u")
        #expect(json["devices"]?[0]?["platform"]?.string == "ios" && json["devices"]?[1] == nil)
        await rig.rig.end()
    }

    @Test func `devices come, are listed newest first, and go`() async throws {
        let rig = try await Self.rig()
        for token in ["a", "b", "c"] { _ = try await Self.register(rig, "u1", token) }
        #expect(try await Self.tokens(rig, "u1") == ["c", "b", "a"])
        let one = try await Self.call(rig, "DELETE", "/v1/devices?token=b")
        #expect(one.json["removed"]?.integer == 1)
        #expect(try await Self.tokens(rig, "u1") == ["c", "a"])
        let all = try await Self.call(rig, "DELETE", "/v1/devices?user=u1")
        #expect(all.json["removed"]?.integer == 2)
        #expect(try await Self.tokens(rig, "u1") == [])
        await rig.end()
    }

    @Test func `a second person on the same phone gets nothing of the first`() async throws {
        let rig = try await Self.rig()
        _ = try await Self.register(rig, "first", "phone")
        _ = try await Self.register(rig, "second", "phone")
        #expect(try await Self.tokens(rig, "first") == [])
        #expect(try await Self.tokens(rig, "second") == ["phone"])
        await rig.end()
    }

    @Test func `twenty tokens of one kind stay, the oldest goes first`() async throws {
        let rig = try await Self.rig()
        for number in 1...20 {
            #expect(try await Self.register(rig, "u", "t\(number)")["evicted"]?.integer == 0)
        }
        _ = try await Self.register(rig, "u", "other-kind", platform: "android")
        #expect(try await Self.register(rig, "u", "t21")["evicted"]?.integer == 1)
        let tokens = try await Self.tokens(rig, "u")
        #expect(tokens.count == 21)
        #expect(!tokens.contains("t1") && tokens.contains("t2") && tokens.contains("other-kind"))
        await rig.end()
    }

    @Test func `a client sees its own app alone, and does what its scopes allow`() async throws {
        let rig = try await Self.rig()
        _ = try await Self.register(rig, "u", "mine")
        #expect(try await Self.tokens(rig, "u", client: "token-of-other-333") == [])
        let body = #"{"user":"u","token":"x","platform":"ios"}"#
        let reader = try await Self.call(
            rig, "POST", "/v1/devices", body, token: "token-of-reader-22")
        #expect(reader.status == 403)
        let strayed = try await Self.call(
            rig, "POST", "/v1/devices", #"{"user":"u","token":"x","platform":"ios","app":"b"}"#)
        #expect(strayed.status == 403)
        #expect(strayed.json["detail"]?.string?.contains("which this token is for") == true)
        for token in [nil, "wrong", ""] {
            let refused = try await Self.call(rig, "GET", "/v1/devices?user=u", token: token)
            #expect(refused.status == 401)
            #expect(refused.answer.header("www-authenticate") == "Bearer")
        }
        await rig.end()
    }

    @Test(arguments: [
        ("POST", "/v1/devices", "[]", "JSON object"),
        ("POST", "/v1/devices", #"{"token":"t","platform":"ios"}"#, "\"user\" is required"),
        (
            "POST", "/v1/devices", #"{"user":"u","token":"t","platform":"Web "}"#,
            "\"platform\" has letters"
        ),
        (
            "POST", "/v1/devices", #"{"user":"u","token":"t","plattform":"ios"}"#,
            "there is no \"plattform\" (did you mean \"platform\"?); known: app, user"
        ),
        (
            "DELETE", "/v1/devices?user=u&tokn=t", "",
            "no parameter \"tokn\" (did you mean \"token\"?)"
        ),
        ("DELETE", "/v1/devices?user=u&user=v", "", "the parameter user is given twice"),
        ("DELETE", "/v1/devices?user=u", #"{"token":"t"}"#, "DELETE takes no body"),
        ("GET", "/v1/devices?usr=u", "", "no parameter \"usr\" (did you mean \"user\"?)"),
        (
            "PUT", "/v1/devices/presence", #"{"user":"u","online":true,"tokn":"t"}"#,
            "there is no \"tokn\" (did you mean \"token\"?)"
        ),
        (
            "POST", "/v1/devices", #"{"user":"u","token":7,"platform":"ios"}"#,
            "\"token\" must be text"
        ),
        (
            "POST", "/v1/devices", #"{"user":"u\u0000","token":"t","platform":"ios"}"#,
            "\"user\" has a control character"
        ),
        (
            "POST", "/v1/devices",
            #"{"user":"u","token":"t","platform":"ios","attributes":{"a":"\n"}}"#,
            "attribute has a control character"
        ),
        ("GET", "/v1/devices", "", "user is required"),
        ("DELETE", "/v1/devices", "", "give either"),
        ("DELETE", "/v1/devices?user=a&token=b", "", "give either"),
        ("PUT", "/v1/devices/presence", #"{"user":"u"}"#, "\"online\" must be"),
    ])
    func `bad requests are told what is wrong`(
        method: String, path: String, body: String, words: String
    ) async throws {
        let rig = try await Self.rig()
        let refused = try await Self.call(rig, method, path, body)
        #expect(refused.status == 400)
        #expect(refused.json["detail"]?.string?.contains(words) == true)
        await rig.end()
    }

    @Test func `the API is as docs-openapi says`() async throws {
        let rig = try await Self.rig()
        let file = PluginRig.root.appending(path: "docs/openapi.json")
        let spec = try JSONValue.parse(Array(Data(contentsOf: file)))
        guard case .object(let paths) = spec["paths"] else {
            Issue.record("no paths")
            return
        }
        for path in paths {
            guard case .object(let operations) = path.value else { continue }
            for operation in operations {
                let body = operation.value["requestBody"]?["content"]?["application/json"]?[
                    "example"]
                let query = body == nil ? "?user=u1" : ""
                let method = operation.key.uppercased()
                let good = try await Self.call(rig, method, path.key + query, body?.text ?? "")
                #expect(good.status == 200, "\(method) \(path.key)")
                let schema = operation.value["responses"]?["200"]?["content"]?["application/json"]?[
                    "schema"]
                guard case .array(let required) = schema?["required"] else {
                    Issue.record("no schema of \(method) \(path.key)")
                    continue
                }
                for name in required.compactMap(\.string) { #expect(good.json[name] != nil) }
                for status in ["400", "401", "403", "429", "503"] {
                    #expect(operation.value["responses"]?[status] != nil, "\(method) \(path.key)")
                }
            }
            let known = Set(operations.map { $0.key.uppercased() })
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH"] where !known.contains(method) {
                #expect(try await Self.call(rig, method, path.key, "{}").status == 405)
            }
        }
        await rig.end()
    }

    /// A source that names users: `{"user":"u"}` in, one event for all of the user's devices.
    static let userSource = """
        #include <signalbox/plugin.h>
        #include <string.h>
        #define STR(s) ((sbx_str){s, sizeof(s) - 1})
        static int dummy;
        static const sbx_json *json;
        static const sbx_host *the_host;
        static sbx_status create(const sbx_host *h, sbx_str c, sbx_instance **i, sbx_error *e) {
          (void)c; (void)e; the_host = h; json = h->service(h, SBX_SVC_JSON); *i = (sbx_instance *)&dummy;
          return SBX_OK;
        }
        static void destroy(sbx_instance *i) { (void)i; }
        static const sbx_ingest_path the_paths[] = {{sizeof(sbx_ingest_path), 0, {"/in/users", 9}, {"POST", 4}}};
        static sbx_status paths(sbx_instance *i, const sbx_ingest_path **p, size_t *n, size_t *s) {
          (void)i; *p = the_paths; *n = 1; *s = sizeof *the_paths; return SBX_OK;
        }
        static sbx_status handle(sbx_instance *i, const sbx_request *r, sbx_ingest_sink *sink, sbx_error *e) {
          sbx_json_value root, user;
          sbx_device device = {.struct_size = sizeof device, .app = STR("com.example.app")};
          sbx_recipient one = {.struct_size = sizeof one, .device = &device};
          sbx_event event = {.struct_size = sizeof event, .type = STR("user.hello"), .recipients = &one,
                             .recipient_count = 1, .recipient_stride = sizeof one};
          (void)i;
          if (json->parse(the_host, r->body, &root, e) != SBX_OK) return SBX_E_INVALID;
          if (json->at(root, STR("/user"), &user) != SBX_OK) return SBX_E_INVALID;
          json->string(user, &device.user);
          return sink->emit(sink, &event, 1, sizeof event);
        }
        static sbx_status build(sbx_instance *i, const sbx_build_input *in, sbx_build_sink *sink, sbx_error *e) {
          sbx_notification note = {.struct_size = sizeof note, .body = STR("hello")};
          (void)i; (void)e;
          for (uint32_t k = 0; k < in->recipient_count; k++) {
            sbx_target target = {.struct_size = sizeof target, .recipient = k};
            sink->emit(sink, &note, &target, 1, sizeof target);
          }
          return SBX_OK;
        }
        static const sbx_ingest ingest_role = {sizeof ingest_role, 0, paths, handle};
        static const sbx_build build_role = {sizeof build_role, 0, NULL, build};
        static const void *role(const char *id) {
          return strcmp(id, SBX_ROLE_INGEST) == 0 ? (const void *)&ingest_role : (const void *)&build_role;
        }
        static const char *const roles[] = {SBX_ROLE_INGEST, SBX_ROLE_BUILD, NULL};
        static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, 0, "org.example.users", "1", "users", roles,
          NULL, NULL, create, role, NULL, NULL, destroy};
        const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) { (void)h; (void)e; return &plugin; }
        """

    @Test func `an event that names a user reaches all of the user's devices`() async throws {
        let library = try await PluginRig.compile(Self.userSource)
        let rig = try await GatewayRig(config: { simulators in
            (GatewayRig.plugins(simulators) + Self.clients).replacingOccurrences(
                of: "  z: { library: Zendesk, config: { path: /in/z } }",
                with: "  z: { library: \(library) }") + """

                    routes:
                      - { name: hello, from: z, send: { ios: apns } }
                    """
        })
        for token in ["aa", "bb"] { _ = try await Self.register(rig, "u1", token) }
        _ = try await Self.register(rig, "u2", "cc")
        #expect(try await rig.post(#"{"user":"u1"}"#, path: "/in/users").status == 200)
        #expect(try await rig.post(#"{"user":"nobody"}"#, path: "/in/users").status == 200)
        #expect(Set(await rig.delivered(rig.simulators.apns, 2)) == ["aa", "bb"])
        // After the logout nothing more arrives.
        _ = try await Self.call(rig, "DELETE", "/v1/devices?user=u1")
        #expect(try await rig.post(#"{"user":"u1"}"#, path: "/in/users").status == 200)
        #expect(try await rig.post(#"{"user":"u2"}"#, path: "/in/users").status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 3).last == "cc")
        await rig.gateway.stop()
        #expect(rig.simulators.apns.received.count == 3)
        await rig.end()
    }

    @Test
    func `an event that its builder fails on is refused, and is no duplicate when it comes again`()
        async throws
    {
        let library = try await PluginRig.compile(
            Self.userSource.replacingOccurrences(
                of: ".type = STR(\"user.hello\"),",
                with: ".type = STR(\"user.hello\"), .dedupe = STR(\"same\"),"
            ).replacingOccurrences(
                of: "(void)i; (void)e;\n  for (uint32_t k",
                with:
                    "(void)i; (void)e;\n  if (builds++ < 1) return SBX_E_INTERNAL;\n  for (uint32_t k"
            ).replacingOccurrences(
                of: "static int dummy;", with: "static int dummy, builds;"))
        let rig = try await GatewayRig(config: { simulators in
            (GatewayRig.plugins(simulators) + Self.clients).replacingOccurrences(
                of: "  z: { library: Zendesk, config: { path: /in/z } }",
                with: "  z: { library: \(library) }") + """

                    routes:
                      - { name: hello, from: z, send: { ios: apns } }
                    """
        })
        _ = try await Self.register(rig, "u1", "aa")
        let refused = try await rig.post(#"{"user":"u1"}"#, path: "/in/users")
        #expect(refused.status == 503)
        let words = "builder z failed on this event, send it again"
        #expect(try JSONValue.parse(refused.body)["detail"]?.string == words)
        #expect(try await rig.post(#"{"user":"u1"}"#, path: "/in/users").status == 200)
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["aa"])
        let metrics = String(decoding: try await rig.admin("/metrics").body, as: UTF8.self)
        for result in ["unrouted", "duplicate"] {
            #expect(metrics.contains(#"{source="z",result="\#(result)"} 0"#))
        }
        await rig.end()
    }

    @Test func `a token that a provider replaces is replaced in the registry`() async throws {
        let users = try await PluginRig.compile(Self.userSource)
        let hello = try String(
            contentsOf: PluginRig.root.appending(path: "Plugins/HelloC/hello.c"), encoding: .utf8)
        // The plugin settles each delivery at once, with another token.
        let sender = try await PluginRig.compile(
            hello.replacingOccurrences(
                of: "sink->request(sink, &r, 1, sizeof r);",
                with: """
                    sbx_outcome o = {.struct_size = sizeof o, .item = one->id, .kind = SBX_OUTCOME_DELIVERED,
                                     .reason = STR("ok"), .new_token = STR("new-token")};
                    (void)r;
                    sink->settle(sink, &o, 1, sizeof o);
                    """))
        let rig = try await GatewayRig(config: { simulators in
            (GatewayRig.plugins(simulators) + Self.clients).replacingOccurrences(
                of: "  z: { library: Zendesk, config: { path: /in/z } }",
                with: """
                      z: { library: \(users) }
                      s: { library: \(sender), config: { endpoint: "\(simulators.fcm.origin)" } }
                    """) + """

                    routes:
                      - { name: hello, from: z, send: { ios: s } }
                    """
        })
        _ = try await Self.register(rig, "u1", "old-token")
        #expect(try await rig.post(#"{"user":"u1"}"#, path: "/in/users").status == 200)
        var tokens: [String] = []
        for _ in 0..<6_000 where tokens != ["new-token"] {
            tokens = try await Self.tokens(rig, "u1")
        }
        #expect(tokens == ["new-token"])
        await rig.end()
    }

    @Test func `without clients there is no registry to see`() async throws {
        let rig = try await GatewayRig()
        #expect(try await Self.call(rig, "GET", "/v1/devices?user=u").status == 404)
        await rig.end()
    }
}

/// A token that a provider reports dead is reported to the system that supplied it.
@Suite struct DeviceReportsTests {
    /// Zendesk's API: accepts bulk unregister calls.
    final class ZendeskAPI: AsyncHTTPServerHandler {
        private let calls = Mutex<[(authorization: String, tokens: [String])]>([])
        private let refusals: Mutex<Int>

        init(refusals: Int = 0) { self.refusals = Mutex(refusals) }

        var tokens: [[String]] { calls.withLock { $0.map(\.tokens) } }
        var authorizations: Set<String> { calls.withLock { Set($0.map(\.authorization)) } }

        func refusal(method: String, path: String) -> HTTPServerAnswer? {
            path == "/api/v2/push_notification_devices/destroy_many" && method == "POST"
                ? nil : Problem(404, "no").answer
        }

        func answer(_ request: HTTPServerRequest) async -> HTTPServerAnswer {
            let isRefused = refusals.withLock { count in
                count -= 1
                return count >= 0
            }
            if isRefused {
                return HTTPServerAnswer(status: 429, headers: [Attribute("retry-after", "1")])
            }
            var tokens: [String] = []
            if case .array(let items) = try? JSONValue.parse(request.body)[
                "push_notification_devices"]
            {
                tokens = items.compactMap(\.string)
            }
            let authorization = request.headers.first { $0.key == "authorization" }?.value ?? ""
            calls.withLock { $0.append((authorization, tokens)) }
            return HTTPServerAnswer(status: 200, body: Array("\"\"".utf8))
        }
    }

    static func rig(_ port: Int, goneAgoMs: UInt64 = 0) async throws -> GatewayRig {
        var options = SimulatorsOptions()
        options.apns.goneAgoMs = goneAgoMs
        return try await GatewayRig(
            options,
            config: { simulators in
                (GatewayRig.plugins(simulators) + DeviceTests.clients + "\n" + GatewayRig.routes)
                    .replacingOccurrences(
                        of: "config: { path: /in/z }",
                        with: """
                            config: { path: /in/z, api: { endpoint: "http://127.0.0.1:\(port)", email: a@b.c, \
                            api_token: "zd-secret" } }
                            """)
            })
    }

    static func serve(_ api: ZendeskAPI) async throws -> HTTPServer {
        try await HTTPServer.start(
            HTTPServerOptions(host: "127.0.0.1", port: 0), logger: .init(label: "zendesk"),
            handler: api)
    }

    static func reported(_ api: ZendeskAPI, _ count: Int) async throws -> Set<String> {
        for _ in 0..<6_000 where api.tokens.joined().count < count {
            try await Task.sleep(for: .milliseconds(10))
        }
        return Set(api.tokens.joined())
    }

    @Test func `dead tokens go back exactly as they were delivered`() async throws {
        let api = ZendeskAPI(refusals: 1)
        let server = try await Self.serve(api)
        let rig = try await Self.rig(server.port)
        try await rig.simulators.apns.take(
            .fail(tokens: ["dead01"], status: 410, reason: "Unregistered", times: nil))
        try await rig.simulators.fcm.take(
            .fail(tokens: ["gone:x"], status: 404, reason: "UNREGISTERED", times: nil))
        try await rig.post(
            GatewayRig.webhook([
                ("ios", "<DEAD 01>"), ("ios", "fine"), ("android", "gone:x"), ("android", "ok"),
            ]))
        #expect(try await Self.reported(api, 2) == ["<DEAD 01>", "gone:x"])
        #expect(api.authorizations == ["Basic YUBiLmMvdG9rZW46emQtc2VjcmV0"])
        // It is reported once, however often a push is tried.
        try await rig.post(GatewayRig.webhook([("ios", "<DEAD 01>")], ticket: "6"))
        #expect(await rig.delivered(rig.simulators.fcm, 1) == ["ok"])
        await rig.gateway.stop()
        #expect(api.tokens.joined().count == 2)
        #expect(!rig.log.all.description.contains("zd-secret"))
        await rig.end()
        await server.shutdown()
    }

    @Test func `many are reported in chunks of at most a hundred`() async throws {
        let api = ZendeskAPI()
        let server = try await Self.serve(api)
        let rig = try await Self.rig(server.port)
        let tokens = (0..<250).map { "t\($0)" }
        // One phone in ten takes its push: a provider that takes none is not believed.
        let dead = tokens.filter { !$0.hasSuffix("7") }
        try await rig.simulators.apns.take(
            .fail(tokens: dead, status: 410, reason: "Unregistered", times: nil))
        try await rig.post(GatewayRig.webhook(tokens.map { ("ios", $0) }))
        #expect(try await Self.reported(api, 225) == Set(dead))
        #expect(api.tokens.allSatisfy { $0.count <= 100 })
        await rig.end()
        await server.shutdown()
    }

    @Test func `a provider that calls every token dead does not empty the registry`() async throws {
        let api = ZendeskAPI()
        let server = try await Self.serve(api)
        let rig = try await Self.rig(server.port)
        try await rig.simulators.apns.take(
            .fail(tokens: [], status: 410, reason: "Unregistered", times: nil))
        let tokens = (0..<50).map { "t\($0)" }
        try await rig.post(GatewayRig.webhook(tokens.map { ("ios", $0) }))
        #expect(try await Self.reported(api, 20).count == 20)
        let letters = try await DurabilityTests.dead(rig, 30)["dead"]
        let reasons = (0..<30).map { letters?[$0]?["reason"]?.string }
        #expect(Set(reasons) == ["death_doubted"])
        await rig.gateway.stop()
        #expect(api.tokens.joined().count == 20)
        await rig.end()
        await server.shutdown()
    }

    @Test func `a message that FCM refuses is a dead letter and removes no device`()
        async throws
    {
        let rig = try await DeviceTests.rig()
        _ = try await DeviceTests.register(rig, "u", "phone", platform: "android")
        try await rig.simulators.fcm.take(
            .fail(tokens: ["phone"], status: 400, reason: "INVALID_ARGUMENT", times: 1))
        try await rig.post(GatewayRig.webhook([("android", "phone")]))
        let letter = try await DurabilityTests.dead(rig, 1)["dead"]?[0]
        #expect(letter?["reason"]?.string == "INVALID_ARGUMENT")
        let left = try await DeviceTests.call(rig, "GET", "/v1/devices?user=u").json["devices"]
        #expect(left?[0]?["token"]?.string == "phone", "\(left?.text ?? "")")
        await rig.end()
    }

    @Test func `a dead token leaves the registry, one that was registered again stays`()
        async throws
    {
        let api = ZendeskAPI()
        let server = try await Self.serve(api)
        let rig = try await Self.rig(server.port, goneAgoMs: 60_000)
        // The 410 says that the token died a minute ago, so this newer one is alive.
        _ = try await DeviceTests.register(rig, "u", "reborn", client: "token-of-backend-1")
        // FCM gives no time.
        _ = try await DeviceTests.register(rig, "u", "gone", platform: "android")
        try await rig.simulators.apns.take(
            .fail(tokens: ["reborn", "unknown"], status: 410, reason: "Unregistered", times: nil))
        try await rig.simulators.fcm.take(
            .fail(tokens: ["gone"], status: 404, reason: "UNREGISTERED", times: nil))
        try await rig.post(
            GatewayRig.webhook([("ios", "reborn"), ("ios", "unknown"), ("android", "gone")]))
        #expect(try await Self.reported(api, 2) == ["unknown", "gone"])
        #expect(try await DeviceTests.tokens(rig, "u") == ["reborn"])
        await rig.end()
        await server.shutdown()
    }
}
