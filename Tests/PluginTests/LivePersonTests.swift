import PluginRig
import SignalboxCrypto
import SignalboxPluginHost
import Testing

@Suite struct LivePersonTests {
    static func post(
        _ rig: RoleRig, _ headers: [(String, String)], certificate: String
    ) async throws -> PluginFault? {
        let body = try PluginRig.fixture("LivePerson/ios.json")
        return await rig.handle(body, path: "/in/lp", headers: headers, certificate: certificate)
            .fault
    }

    @Test func `certificate and static headers, alone and together`() async throws {
        let rig = try await RoleRig(
            "LivePerson",
            config: #"""
                {"path":"/in/lp","user":"lp","password":"secret:word","client_certificates":["CN=proxy"],
                "headers":[{"name":"X-Key","value":"k1"},{"name":"X-Two","value":"k2"}]}
                """#)
        let basic = "Basic " + Base64.encode(Array("lp:secret:word".utf8))
        let all = [("authorization", basic), ("x-key", "k1"), ("x-two", "k2")]
        #expect(try await Self.post(rig, all, certificate: "CN=proxy") == nil)
        for index in all.indices {
            var some = all
            some.remove(at: index)
            #expect(try await Self.post(rig, some, certificate: "CN=proxy")?.kind == .auth)
        }
        for certificate in ["", "CN=other"] {
            #expect(try await Self.post(rig, all, certificate: certificate)?.kind == .auth)
        }
        #expect(await rig.end() == [])

        let alone = try await RoleRig(
            "LivePerson", config: #"{"path":"/in/lp","client_certificates":["CN=proxy"]}"#)
        #expect(try await Self.post(alone, [], certificate: "CN=proxy") == nil)
        #expect(await alone.end() == [])
    }
}
