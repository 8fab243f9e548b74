import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Synchronization
import Testing

/// The send role: plugins in C with their own transport.
@Suite struct SendRoleTests {
    let services = RigServices()

    /// The outcomes that a plugin reported.
    final class Inbox: Sendable {
        private let outcomes = Mutex<[Outcome]>([])
        var all: [Outcome] { outcomes.withLock { $0 } }
        func add(_ more: [Outcome]) { outcomes.withLock { $0 += more } }
    }

    func sender(submit: String) async throws -> (PluginInstance, SendRole) {
        let source = RoleTests.plugin(
            role: "SBX_ROLE_SEND",
            table: "static const sbx_send the_role = {sizeof the_role, 0, submit};",
            functions: """
                #include <pthread.h>
                static const sbx_send_host *out(sbx_instance *i) {
                  return i->host->service(i->host, SBX_SVC_SEND_HOST);
                }
                static void settle(sbx_instance *i, uint64_t item, uint32_t kind) {
                  sbx_outcome o = {.struct_size = sizeof o, .kind = kind, .item = item, .reason = STR("done")};
                  out(i)->complete(i->host, &o, 1, sizeof o);
                }
                struct later { sbx_instance *i; const sbx_delivery *d; size_t n, s; };
                static void *run(void *p) {
                  struct later *l = p;
                  // The last outcome may end the instance: nothing of it is touched afterwards.
                  out(l->i)->credit(l->i->host, 1);
                  for (size_t k = 0; k < l->n; k++) {
                    const sbx_delivery *d = SBX_AT(sbx_delivery, l->d, k, l->s);
                    sbx_outcome o = {.struct_size = sizeof o, .kind = SBX_OUTCOME_DELIVERED, .item = d->id,
                                     .provider_id = d->device->token};
                    out(l->i)->complete(l->i->host, &o, 1, sizeof o);
                  }
                  free(l);
                  return NULL;
                }
                static void later(sbx_instance *i, const sbx_delivery *d, size_t n, size_t s) {
                  struct later *l = malloc(sizeof *l);
                  pthread_t t;
                  *l = (struct later){i, d, n, s};
                  pthread_create(&t, NULL, run, l);
                  pthread_detach(t);
                }
                static sbx_status submit(sbx_instance *i, sbx_str a, const sbx_delivery *d, size_t n, size_t s,
                                         size_t *taken, sbx_error *e) {
                  (void)a; (void)d; (void)n; (void)s; (void)e; (void)later; (void)settle;
                  \(submit)
                }
                """)
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: services)
        return (instance, try #require(SendRole(instance)))
    }

    @Test func `outcomes come from another thread, out of memory that is still there`() async throws
    {
        let (instance, role) = try await sender(
            submit: "later(i, d, n, s); *taken = n; return SBX_OK;")
        let inbox = Inbox()
        for round in 0..<50 {
            let first = UInt64(round * 100 + 1)
            let taken = role.submit(
                app: "", deliveries: RoleTests.deliveries(first...first + 99)
            ) { inbox.add($0) }
            #expect(try taken.get() == 100)
        }
        await services.waitFor { inbox.all.count == 5_000 }
        #expect(Set(inbox.all.map(\.item)) == Set(1...5_000))
        #expect(inbox.all.allSatisfy { $0.providerID == "t\($0.item)" && $0.kind == .delivered })
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `a plugin takes a part, and says when there is room`() async throws {
        let (instance, role) = try await sender(
            submit:
                "*taken = n / 2; if (!*taken) return SBX_E_AGAIN; later(i, d, *taken, s); return SBX_OK;"
        )
        let inbox = Inbox()
        let room = Once<Bool>()
        role.whenRoom { room.set(true) }
        let taken = role.submit(app: "", deliveries: RoleTests.deliveries(1...9)) { inbox.add($0) }
        #expect(try taken.get() == 4)
        #expect(await room.value() == true)
        await services.waitFor { inbox.all.count == 4 }
        #expect(inbox.all.map(\.item).sorted() == [1, 2, 3, 4])
        let none = role.submit(app: "", deliveries: RoleTests.deliveries(10...10)) { inbox.add($0) }
        #expect(try none.get() == 0)
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    @Test func `a second outcome is ignored and reported`() async throws {
        let (instance, role) = try await sender(
            submit:
                "settle(i, d->id, 1); settle(i, d->id, 7); settle(i, 99, 1); *taken = n; return SBX_OK;"
        )
        let inbox = Inbox()
        _ = role.submit(app: "", deliveries: RoleTests.deliveries(1...1)) { inbox.add($0) }
        #expect(inbox.all.map(\.kind) == [.delivered])
        let words = "test: settled a delivery that is not in flight: twice, or never taken"
        #expect(services.faults == [words, words])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `what a plugin settles but does not take stays with the host`() async throws {
        let (instance, role) = try await sender(
            submit: "settle(i, d->id, 1); *taken = 0; return SBX_E_AGAIN;")
        let inbox = Inbox()
        let taken = role.submit(app: "", deliveries: RoleTests.deliveries(1...1)) { inbox.add($0) }
        #expect(try taken.get() == 0)
        #expect(inbox.all.isEmpty)
        #expect(services.faults == ["test: settled 1 deliveries it did not take"])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test func `unknown outcomes and too many taken are faults`() async throws {
        let (instance, role) = try await sender(
            submit: "settle(i, d->id, 77); *taken = 1000; return SBX_OK;")
        let inbox = Inbox()
        let taken = role.submit(app: "", deliveries: RoleTests.deliveries(1...1)) { inbox.add($0) }
        #expect(try taken.get() == 1)
        #expect(inbox.all.map(\.reason) == ["plugin_bad_kind"])
        #expect(
            services.faults == [
                "test: gave an outcome of the unknown kind 77", "test: took 1000 of 1 deliveries",
            ])
        #expect(await instance.stop(deadlineMs: 5_000))
    }

    @Test
    func `a delivery without an outcome is retried after a minute, and a late outcome is ignored`()
        async throws
    {
        let services = RigServices(nowUnixMs: 1_000_000)
        services.isVirtual = true
        let source = try await lateSender(services)
        let inbox = Inbox()
        _ = source.role.submit(app: "", deliveries: RoleTests.deliveries(1...2)) { inbox.add($0) }
        #expect(inbox.all.isEmpty)
        // Setting the wall clock back does not let the plugin keep them longer.
        services.setWall(unixMs: 1_000)
        services.advance(ms: 59_999)
        #expect(inbox.all.isEmpty)
        services.advance(ms: 1)
        #expect(inbox.all.map(\.reason) == ["no_outcome", "no_outcome"])
        // The plugin settles the first two when it gets the third.
        _ = source.role.submit(app: "", deliveries: RoleTests.deliveries(3...3)) { inbox.add($0) }
        #expect(inbox.all.map(\.item) == [1, 2, 3])
        let late = "test: settled a delivery later than 60 s after it took it"
        #expect(services.faults == ["test: left 2 deliveries without an outcome", late, late])
        #expect(await source.instance.stop(deadlineMs: 5_000))
    }

    private func lateSender(
        _ services: RigServices
    ) async throws -> (instance: PluginInstance, role: SendRole) {
        let source = RoleTests.plugin(
            role: "SBX_ROLE_SEND",
            table: "static const sbx_send the_role = {sizeof the_role, 0, submit};",
            functions: """
                static sbx_status submit(sbx_instance *i, sbx_str a, const sbx_delivery *d, size_t n, size_t s,
                                         size_t *taken, sbx_error *e) {
                  const sbx_send_host *out = i->host->service(i->host, SBX_SVC_SEND_HOST);
                  (void)a; (void)e; (void)s;
                  *taken = n;
                  for (uint64_t id = 1; d->id == 3 && id <= 3; id++) {
                    sbx_outcome o = {.struct_size = sizeof o, .kind = SBX_OUTCOME_DELIVERED, .item = id};
                    out->complete(i->host, &o, 1, sizeof o);
                  }
                  return SBX_OK;
                }
                """)
        let instance = try await PluginRig.instance(
            of: try await PluginRig.compile(source), services: services)
        return (instance, try #require(SendRole(instance)))
    }
}
