import Foundation
import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Testing

/// Plugins in C, some of which break the contract.
@Suite struct RoleTests {
    let services = RigServices()

    static let head = """
        #include <signalbox/plugin.h>
        #include <stdlib.h>
        #include <string.h>
        #define STR(s) ((sbx_str){s, sizeof(s) - 1})
        struct sbx_instance { const sbx_host *host; };
        static sbx_status create(const sbx_host *h, sbx_str c, sbx_instance **i, sbx_error *e) {
          (void)c; (void)e; *i = malloc(sizeof **i); (*i)->host = h; return SBX_OK;
        }
        static void destroy(sbx_instance *i) { free(i); }
        """

    static func plugin(role: String, table: String, functions: String, flags: String = "0")
        -> String
    {
        """
        \(head)
        \(functions)
        \(table)
        static const void *role(const char *id) { (void)id; return &the_role; }
        static const char *const roles[] = {\(role), NULL};
        static const sbx_plugin plugin = {sizeof plugin, SBX_ABI_MAJOR, SBX_ABI_MINOR, 0, \(flags), "org.example.t", "1", "t", roles,
          NULL, NULL, create, role, NULL, NULL, destroy};
        const sbx_plugin *sbx_plugin_entry_v1(const sbx_host *h, sbx_error *e) {
          (void)h; (void)e; return &plugin;
        }
        """
    }

    func source(prepare: String, classify: String = "", flags: String = "0") -> String {
        Self.plugin(
            role: "SBX_ROLE_SEND_HTTP",
            table:
                "static const sbx_send_http the_role = {sizeof the_role, 0, endpoint, prepare, classify};",
            functions: """
                static sbx_status endpoint(sbx_instance *i, sbx_str a, sbx_endpoint *e, sbx_error *x) {
                  (void)i; (void)a; (void)x; e->origin = STR("https://h"); return SBX_OK;
                }
                static void send_one(sbx_http_sink *sink, sbx_str path, sbx_kv header, uint64_t item) {
                  sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = path,
                    .headers = &header, .header_count = 1, .items = &item, .item_count = 1};
                  sink->request(sink, &r, 1, sizeof r);
                }
                static sbx_status prepare(sbx_instance *i, sbx_str a, const sbx_delivery *d, size_t n, size_t s,
                                          sbx_http_sink *sink, sbx_error *e) {
                  (void)i; (void)a; (void)d; (void)n; (void)s; (void)sink; (void)e; (void)send_one;
                  \(prepare)
                }
                static sbx_status classify(sbx_instance *i, const sbx_http_response *r, size_t n, size_t s,
                                           sbx_http_sink *sink, sbx_error *e) {
                  (void)i; (void)r; (void)n; (void)s; (void)sink; (void)e;
                  \(classify)
                  return SBX_OK;
                }
                """, flags: flags)
    }

    func sender(prepare: String, classify: String = "", flags: String = "0") async throws -> (
        PluginInstance, SendHTTPRole
    ) {
        let source = source(prepare: prepare, classify: classify, flags: flags)
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: services)
        return (instance, try #require(SendHTTPRole(instance)))
    }

    static func deliveries(_ ids: ClosedRange<UInt64>) -> [Delivery] {
        let content = SharedNotification(PushNotification(), receivedUnixMs: 0)
        return ids.map {
            Delivery(
                id: $0, eventID: 1, route: "r", sender: "s", stableID: "id-\($0)",
                deadlineUnixMs: 0,
                content: content, device: Device(token: "t\($0)"))
        }
    }

    static let sendAll = """
        for (size_t k = 0; k < n; k++)
          send_one(sink, STR("/p"), (sbx_kv){STR("a"), STR("b")}, SBX_AT(sbx_delivery, d, k, s)->id);
        return SBX_OK;
        """

    @Test func `a batch goes over as it is`() async throws {
        let (instance, role) = try await sender(prepare: Self.sendAll)
        guard
            case .ready(let batch, let settled) = role.prepare(
                app: "", deliveries: Self.deliveries(1...600))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(batch.requests.count == 600 && settled.isEmpty)
        #expect(batch.items == Array(1...600))
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `a request says which of its headers no table keeps`() async throws {
        let (instance, role) = try await sender(
            prepare: """
                sbx_kv headers[] = {{STR("a"), STR("b")}, {STR("id"), STR("1")}};
                sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("/p"),
                  .headers = headers, .header_count = 2, .items = &d->id, .item_count = 1, .unindexed_headers = 2};
                return sink->request(sink, &r, 1, sizeof r);
                """)
        guard case .ready(let batch, _) = role.prepare(app: "", deliveries: Self.deliveries(1...1))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(batch.requests.map(\.unindexedHeaders) == [2])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `a forgotten delivery is a passing fault and is reported`() async throws {
        let (instance, role) = try await sender(prepare: "return SBX_OK;")
        guard
            case .ready(let batch, let settled) = role.prepare(
                app: "", deliveries: Self.deliveries(1...3))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(batch.requests.isEmpty)
        #expect(settled.map(\.item) == [1, 2, 3])
        #expect(settled.allSatisfy { $0.kind == .retry && $0.reason == "plugin_forgot" })
        #expect(services.faults == ["test: forgot 3 of 3 items"])
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test(arguments: [
        ("STR(\"no-slash\")", "STR(\"a\")", "STR(\"b\")"),
        ("STR(\"/a b\")", "STR(\"a\")", "STR(\"b\")"),
        ("STR(\"/p\")", "STR(\"Upper\")", "STR(\"b\")"),
        ("STR(\"/p\")", "STR(\"a\")", "STR(\"b\\r\\nx: y\")"),
        ("STR(\"/p\")", "STR(\"\")", "STR(\"b\")"),
        ("STR(\"/p\")", "STR(\":path\")", "STR(\"b\")"),
    ])
    func `a malformed request is not taken`(path: String, name: String, value: String) async throws
    {
        let (instance, role) = try await sender(
            prepare: """
                send_one(sink, \(path), (sbx_kv){\(name), \(value)}, d->id);
                return SBX_OK;
                """)
        guard
            case .ready(let batch, let settled) = role.prepare(
                app: "", deliveries: Self.deliveries(1...1))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(batch.requests.isEmpty)
        #expect(settled.map(\.reason) == ["plugin_bad_request"])
        #expect(services.faults.count == 1)
        #expect(
            services.faults[0].contains("left 1 of 1 items, since a call was refused: the "),
            "\(services.faults)")
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test func `a refused request is the reason of a failure without words`() async throws {
        let (instance, role) = try await sender(
            prepare: """
                sbx_http_request r = {.struct_size = sizeof r, .method = STR("POST"), .path = STR("p"),
                  .items = &d->id, .item_count = 1};
                return sink->request(sink, &r, 1, sizeof r);
                """)
        guard case .failed(let fault) = role.prepare(app: "", deliveries: Self.deliveries(1...1))
        else { throw PluginRig.Failure(description: "not failed") }
        #expect(fault.message == "a call of its sink was refused: the path does not begin with /")
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test(arguments: [true, false])
    func `stop is called only after a start that succeeded`(succeeds: Bool) async throws {
        let source = Self.plugin(
            role: "SBX_ROLE_BUILD",
            table: "static const sbx_build the_role = {sizeof the_role, 0, NULL, build};",
            functions: """
                static void say(sbx_instance *i, sbx_str words) {
                  const sbx_log *log = i->host->service(i->host, SBX_SVC_LOG);
                  log->write(i->host, SBX_LOG_INFO, words, NULL, 0);
                }
                static sbx_status start(sbx_instance *i, sbx_error *e) {
                  (void)e; say(i, STR("started")); return \(succeeds ? "SBX_OK" : "SBX_E_INVALID");
                }
                static sbx_status stop(sbx_instance *i, uint64_t d, sbx_error *e) {
                  (void)d; (void)e; say(i, STR("stopped")); return SBX_OK;
                }
                static sbx_status build(sbx_instance *i, const sbx_build_input *in, sbx_build_sink *s, sbx_error *e) {
                  (void)i; (void)in; (void)s; (void)e; return SBX_OK;
                }
                """
        ).replacing("create, role, NULL, NULL, destroy", with: "create, role, start, stop, destroy")
        let instance = try await PluginInstance.create(
            name: "t", library: try PluginLibrary.load(try await PluginRig.compile(source)),
            config: CheckedConfig(json: .object([]), secrets: [:]), version: "1",
            services: services)
        if succeeds {
            try await instance.start(fetches: false)
        } else {
            await #expect(throws: PluginFault.self) { try await instance.start(fetches: false) }
        }
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(
            services.lines == (["started"] + (succeeds ? ["stopped"] : [])).map { "t info \($0)" })
    }

    @Test func `an item is taken once, and only if it was offered`() async throws {
        let (instance, role) = try await sender(
            prepare: """
                sbx_kv h = {STR("a"), STR("b")};
                send_one(sink, STR("/p"), h, 1);
                send_one(sink, STR("/p"), h, 1);
                send_one(sink, STR("/p"), h, 99);
                sbx_outcome o = {.struct_size = sizeof o, .kind = SBX_OUTCOME_DELIVERED, .item = 1};
                if (sink->settle(sink, &o, 1, sizeof o) != SBX_E_INVALID) return SBX_E_INTERNAL;
                o.item = 2;
                o.kind = 77;
                return sink->settle(sink, &o, 1, sizeof o);
                """)
        guard
            case .ready(let batch, let settled) = role.prepare(
                app: "", deliveries: Self.deliveries(1...2))
        else { throw PluginRig.Failure(description: "not ready") }
        #expect(batch.items == [1])
        #expect(settled.map(\.reason) == ["plugin_bad_kind"])
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test func `again and failure take nothing`() async throws {
        let (one, again) = try await sender(prepare: "return SBX_E_AGAIN;")
        guard case .again = again.prepare(app: "", deliveries: Self.deliveries(1...2)) else {
            throw PluginRig.Failure(description: "not again")
        }
        let (two, failing) = try await sender(
            prepare: "strcpy(e->message, \"out of ink\"); return SBX_E_INTERNAL;")
        guard case .failed(let fault) = failing.prepare(app: "", deliveries: Self.deliveries(1...2))
        else { throw PluginRig.Failure(description: "not failed") }
        #expect(fault.message == "out of ink")
        _ = await one.stop(deadlineMs: 5_000)
        _ = await two.stop(deadlineMs: 5_000)
    }

    @Test func `responses are settled or asked again`() async throws {
        let (instance, role) = try await sender(
            prepare: Self.sendAll,
            classify: """
                for (size_t k = 0; k < n; k++) {
                  const sbx_http_response *one = SBX_AT(sbx_http_response, r, k, s);
                  if (one->http_status == 302) {
                    send_one(sink, STR("/again"), (sbx_kv){STR("a"), STR("b")}, one->items[0]);
                  } else if (one->http_status == 200) {
                    sbx_outcome o = {.struct_size = sizeof o, .kind = SBX_OUTCOME_DELIVERED, .item = one->items[0],
                                     .reason = one->body, .flags = SBX_OUTCOME_RECONNECT};
                    sink->settle(sink, &o, 1, sizeof o);
                  }
                }
                """)
        let (settled, requests) = role.classify(
            app: "",
            responses: [
                HTTPResponse(status: 200, body: Array("fine".utf8), items: [1]),
                HTTPResponse(status: 302, items: [2]), HTTPResponse(status: 500, items: [3]),
            ])
        #expect(settled.map(\.reason) == ["fine", "plugin_forgot"])
        #expect(settled[0].reconnect)
        #expect(requests.items == [2])
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test(arguments: [
        ("return SBX_OK;", "plugin_forgot"), ("return SBX_E_INTERNAL;", "plugin_forgot"),
        (
            """
            for (size_t k = 0; k < n; k++) {
              sbx_outcome o = {.struct_size = sizeof o, .kind = 99, .item = SBX_AT(sbx_http_response, r, k, s)->items[0]};
              sink->settle(sink, &o, 1, sizeof o);
            }
            """, "plugin_bad_kind"
        ),
    ])
    func `what a provider has taken is not sent again, although the plugin forgets it`(
        classify: String, reason: String
    ) async throws {
        let (instance, role) = try await sender(prepare: Self.sendAll, classify: classify)
        let (settled, requests) = role.classify(
            app: "",
            responses: [
                HTTPResponse(status: 200, items: [1]), HTTPResponse(status: 204, items: [2]),
                HTTPResponse(status: 500, items: [3]),
            ])
        #expect(settled.map(\.kind) == [.delivered, .delivered, .retry])
        #expect(settled.map(\.reason) == [reason, reason, reason])
        #expect(requests.items == [])
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test func `a serial instance is called by one thread at a time`() async throws {
        let (instance, role) = try await sender(
            prepare: """
                static int inside;
                if (__atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST) != 1) return SBX_E_INTERNAL;
                for (volatile int x = 0; x < 200000; x++) {}
                __atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
                \(Self.sendAll)
                """, flags: "SBX_F_SERIAL")
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    if case .failed(let fault) = role.prepare(
                        app: "", deliveries: Self.deliveries(1...1))
                    {
                        Issue.record("\(fault)")
                    }
                }
            }
        }
        _ = await instance.stop(deadlineMs: 5_000)
    }

    @Test func `after a stop nothing is called`() async throws {
        let (instance, role) = try await sender(prepare: Self.sendAll)
        #expect(await instance.stop(deadlineMs: 5_000))
        guard case .failed(let fault) = role.prepare(app: "", deliveries: Self.deliveries(1...1))
        else { throw PluginRig.Failure(description: "it was called") }
        #expect(fault.kind == .stopping)
    }

    func ingest(_ handle: String) async throws -> IngestResult {
        let source = Self.plugin(
            role: "SBX_ROLE_INGEST",
            table: "static const sbx_ingest the_role = {sizeof the_role, 0, paths, handle};",
            functions: """
                #include <pthread.h>
                static const sbx_ingest_path the_paths[] = {{sizeof(sbx_ingest_path), 0, {"/a", 2}, {"GET,POST", 8}}};
                static sbx_status paths(sbx_instance *i, const sbx_ingest_path **p, size_t *n, size_t *s) {
                  (void)i; *p = the_paths; *n = 1; *s = sizeof *the_paths; return SBX_OK;
                }
                static void *later(void *sink) {
                  sbx_ingest_sink *s = sink;
                  sbx_event v = {.struct_size = sizeof v, .type = STR("x.late")};
                  s->emit(s, &v, 1, sizeof v);
                  s->finish(s, SBX_OK, NULL);
                  return NULL;
                }
                static sbx_status handle(sbx_instance *i, const sbx_request *r, sbx_ingest_sink *sink, sbx_error *e) {
                  (void)i; (void)r; (void)sink; (void)e; (void)later;
                  \(handle)
                }
                """)
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: services)
        let role = try #require(try await IngestRole(instance, limits: Limits()))
        #expect(role.paths == [IngestPath(pattern: "/a", methods: ["GET", "POST"])])
        let once = Once<IngestResult>()
        let request = IngestRequest(
            method: "POST", path: "/a", pattern: "/a", body: [], receivedUnixMs: 1)
        role.handle(request) { once.set($0) }
        let result = try #require(await once.value())
        _ = await instance.stop(deadlineMs: 5_000)
        return result
    }

    @Test func `a failing handle discards what was emitted`() async throws {
        let result = try await ingest(
            """
            sbx_event v = {.struct_size = sizeof v, .type = STR("x.y")};
            sink->emit(sink, &v, 1, sizeof v);
            strcpy(e->message, "bad signature");
            return SBX_E_AUTH;
            """)
        #expect(result.events.isEmpty)
        #expect(result.fault?.kind == .auth)
        #expect(result.fault?.message == "bad signature")
    }

    @Test func `a plugin that cannot take a request now says so, or the host does`() async throws {
        let silent = try await ingest("return SBX_E_AGAIN;")
        #expect(silent.fault?.kind == .again)
        #expect(silent.fault?.message == "the plugin cannot take it now and gave no reason")
        let late = try await ingest("return sink->defer(sink, 1);")
        #expect(late.fault?.message == "the plugin did not finish the request within 1 ms")
    }

    @Test func `the plugin's own answer, once`() async throws {
        let result = try await ingest(
            """
            sbx_kv h = {STR("x-a"), STR("b")};
            if (sink->respond(sink, 204, &h, 1, STR("")) != SBX_OK) return SBX_E_INTERNAL;
            if (sink->respond(sink, 200, NULL, 0, STR("")) != SBX_E_INVALID) return SBX_E_INTERNAL;
            return SBX_OK;
            """)
        #expect(result.answer?.status == 204)
        #expect(result.answer?.headers == [Attribute("x-a", "b")])
    }

    @Test func `malformed events and changes`() async throws {
        let result = try await ingest(
            """
            sbx_event v = {.struct_size = sizeof v, .type = STR("x.y"), .data = STR("[1]")};
            if (sink->emit(sink, &v, 1, sizeof v) != SBX_E_INVALID) return SBX_E_INTERNAL;
            v.data = STR("{}"); v.type = STR("");
            if (sink->emit(sink, &v, 1, sizeof v) != SBX_E_INVALID) return SBX_E_INTERNAL;
            v.type = STR("x"); v.recipient_count = 10001;
            if (sink->emit(sink, &v, 1, sizeof v) != SBX_E_TOO_LARGE) return SBX_E_INTERNAL;
            sbx_device d = {.struct_size = sizeof d, .token = STR("t")};
            sbx_change c = {.struct_size = sizeof c, .kind = SBX_CHANGE_REGISTERED, .device = &d};
            if (sink->change(sink, &c, 1, sizeof c) != SBX_E_INVALID) return SBX_E_INTERNAL;
            d.platform = STR("ios"); c.kind = SBX_CHANGE_INVALID;
            if (sink->change(sink, &c, 1, sizeof c) != SBX_E_INVALID) return SBX_E_INTERNAL;
            c.kind = SBX_CHANGE_REGISTERED;
            d.token = STR("x y");
            if (sink->change(sink, &c, 1, sizeof c) != SBX_E_INVALID) return SBX_E_INTERNAL;
            d.token = STR("t");
            return sink->change(sink, &c, 1, sizeof c);
            """)
        #expect(result.changes.map(\.device.token) == ["t"])
        #expect(result.fault == nil)
        #expect(result.events.isEmpty)
    }

    @Test func `a device that cannot be used is left out of a list of changes, and refused alone`()
        async throws
    {
        let result = try await ingest(
            """
            sbx_device good = {.struct_size = sizeof good, .platform = STR("ios"), .token = STR("t")};
            sbx_device bad = good;
            bad.user = STR("u\\x1b");
            sbx_change both[2] = {
              {.struct_size = sizeof both[0], .kind = SBX_CHANGE_REGISTERED, .device = &bad},
              {.struct_size = sizeof both[0], .kind = SBX_CHANGE_REGISTERED, .device = &good},
            };
            if (sink->change(sink, both, 1, sizeof both[0]) != SBX_E_INVALID) return SBX_E_INTERNAL;
            return sink->change(sink, both, 2, sizeof both[0]);
            """)
        #expect(result.fault == nil)
        #expect(result.changes.map(\.device.token) == ["t"])
        #expect(result.rejects.map(\.reason) == ["control_character"])
    }

    @Test func `a deferred request is finished from another thread`() async throws {
        let result = try await ingest(
            """
            pthread_t t;
            if (sink->defer(sink, 10000) != SBX_OK) return SBX_E_INTERNAL;
            pthread_create(&t, NULL, later, sink);
            pthread_detach(t);
            return SBX_OK;
            """)
        #expect(result.events.map(\.type) == ["x.late"])
    }

    @Test func `a deferred request that is not finished is answered`() async throws {
        let result = try await ingest("return sink->defer(sink, 20);")
        #expect(result.fault?.kind == .timeout)
    }

    @Test func `HelloC is built by a plain compiler and works`() async throws {
        let folder = try Workshop.folder()
        let source = PluginRig.root.appending(path: "Plugins/HelloC/hello.c").path
        #expect(
            try String(contentsOfFile: source, encoding: .utf8).split(separator: "\n").count < 60)
        let library = try await PluginRig.compile(
            file: source, to: folder.appending(path: "libHelloC.so").path)
        let instance = try await PluginRig.instance(
            of: library, config: ["endpoint": "https://hello"],
            services: services)
        let role = try #require(SendHTTPRole(instance))
        #expect(try await role.endpoint(app: "").origin == "https://hello")
        var note = PushNotification()
        note.body = "hi"
        var delivery = Self.deliveries(1...1)[0]
        delivery.content = SharedNotification(note, receivedUnixMs: 0)
        guard case .ready(let batch, _) = role.prepare(app: "", deliveries: [delivery]) else {
            throw PluginRig.Failure(description: "not ready")
        }
        #expect(batch.requests.map { batch.text($0.body) } == ["hi"])
        let (settled, _) = role.classify(
            app: "", responses: [HTTPResponse(status: 204, items: [1])])
        #expect(settled.map(\.kind) == [.delivered])
        #expect(await instance.stop(deadlineMs: 5_000))
    }
}
