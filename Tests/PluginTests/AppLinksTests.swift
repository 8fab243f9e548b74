import PluginRig
import SignalboxCore
import SignalboxPluginHost
import Testing

@Suite struct AppLinksTests {
    static let fingerprint = Array(repeating: "AB", count: 32).joined(separator: ":")

    static func get(_ rig: RoleRig, _ path: String, _ method: String = "GET") async
        -> (type: String?, body: String)
    {
        let result = await rig.handle("", path: path, method: method)
        #expect(result.answer?.status == 200)
        return (
            result.answer?.headers.first { $0.key == "content-type" }?.value,
            String(decoding: result.answer?.body ?? [], as: UTF8.self)
        )
    }

    @Test func `both files, as Apple and Google want them`() async throws {
        let rig = try await RoleRig(
            "AppLinks",
            config: """
                {"legacy":false,"apple":[{"app_id":"TEAMID1234.com.example.app","paths":["/support/*"],
                "webcredentials":true}],"android":[{"package":"com.example.app","fingerprints":["\(Self.fingerprint)"]}]}
                """)
        #expect(rig.ingest?.paths.allSatisfy { $0.methods == ["GET", "HEAD"] } == true)
        let apple = await Self.get(rig, "/.well-known/apple-app-site-association")
        #expect(apple.type == "application/json")
        #expect(
            apple.body
                == #"{"applinks":{"details":[{"appIDs":["TEAMID1234.com.example.app"],"components":[{"/":"/support/*"}]}]},"webcredentials":{"apps":["TEAMID1234.com.example.app"]}}"#
        )
        let android = await Self.get(rig, "/.well-known/assetlinks.json")
        #expect(android.type == "application/json")
        #expect(
            android.body
                == #"[{"relation":["delegate_permission/common.handle_all_urls"],"target":{"namespace":"android_app","package_name":"com.example.app","sha256_cert_fingerprints":["\#(Self.fingerprint)"]}}]"#
        )
        #expect(await Self.get(rig, "/.well-known/assetlinks.json", "HEAD").body == "")
        #expect(await rig.end() == [])
    }

    @Test func `older iOS reads its own keys beside`() async throws {
        let rig = try await RoleRig(
            "AppLinks",
            config: #"{"apple":[{"app_id":"TEAMID1234.com.example.app","paths":["/a"]}]}"#)
        #expect(rig.ingest?.paths.count == 1)
        let body = await Self.get(rig, "/.well-known/apple-app-site-association").body
        #expect(
            body
                == #"{"applinks":{"apps":[],"details":[{"appIDs":["TEAMID1234.com.example.app"],"components":[{"/":"/a"}],"appID":"TEAMID1234.com.example.app","paths":["/a"]}]}}"#
        )
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        "{}", #"{"apple":[{"app_id":"com.example.app"}]}"#,
        #"{"android":[{"package":"com.example.app","fingerprints":["AB:CD"]}]}"#,
    ])
    func `what Apple and Google would not take is refused`(config: String) async throws {
        await #expect(throws: (any Error).self) {
            _ = try await RoleRig("AppLinks", config: config)
        }
    }
}
