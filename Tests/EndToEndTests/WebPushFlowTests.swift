import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxHTTP
import SignalboxJSON
import Testing

@testable import Signalbox

/// Web Push in a whole gateway: a page registers its subscription, and a push service takes the message.
@Suite struct WebPushFlowTests {
    private static func rig(isolation: String = "none") async throws -> RegistryRig {
        let folder = try Workshop.folder()
        let key = folder.appending(path: "vapid.pem")
        try Data(ThrowAway.p256Key().privateKeyPEM()).write(to: key)
        let roots = try Receiver.roots.get()
        return try await RegistryRig(
            plugins: """
                  web:
                    library: WebPush
                    isolation: \(isolation)
                    config:
                      key: "${file:\(key.path)}"
                      subject: mailto:ops@example.org
                      ca: \(roots)
                      private_push_services: true

                """, senders: ", web: web")
    }

    private static func register(
        _ flow: RegistryRig, _ user: String, _ token: String, _ browser: PushSubscription
    ) async throws {
        let attributes = browser.attributes.map { #""\#($0.key)":"\#($0.value)""# }
        let body = """
            {"user":"\(user)","token":"\(token)","platform":"web","attributes":{\(attributes.joined(separator: ","))}}
            """
        #expect(try await flow.call("POST", "/v1/devices", body).status == 200)
    }

    @Test(arguments: ["none", "process"])
    func `a registered subscription gets a message that its browser can read`(
        isolation: String
    ) async throws {
        let (service, browser) = (try await Receiver(), try PushSubscription())
        let flow = try await Self.rig(isolation: isolation)
        try await Self.register(flow, "ada", "\(service.origin)/wpush/a-b_1", browser)
        try await flow.notify(["ada"])
        let request = try #require(await service.wait(for: 1).first)
        #expect(request.method == "POST" && request.path == "/wpush/a-b_1")
        #expect(request.header("content-encoding") == "aes128gcm")
        #expect(request.header("authorization")?.hasPrefix("vapid t=") == true)
        let plain = try #require(try browser.open(request.body))
        #expect(try JSONValue.parse(plain)["title"]?.string == "Hello")
        #expect(!flow.rig.log.all.contains { $0.contains("a-b_1") })
        await flow.rig.end()
        await service.end()
    }

    @Test func `a subscription that is gone leaves the registry, and a dead service stops nobody`()
        async throws
    {
        let service = try await Receiver(answers: [HTTPServerAnswer(status: 410)])
        let flow = try await Self.rig()
        let browser = try PushSubscription()
        try await Self.register(flow, "ada", "\(service.origin)/gone", browser)
        try await Self.register(flow, "bob", "https://127.0.0.1:1/dead", browser)
        try await Self.register(flow, "cleo", "\(service.origin)/fine", browser)
        try await flow.notify(["ada"])
        while try await !DeviceTests.tokens(flow.rig, "ada").isEmpty {
            try await Task.sleep(for: .milliseconds(10))
        }
        try await flow.notify(["bob"])
        try await flow.notify(["cleo"])
        let paths = await service.wait(for: 2).map(\.path)
        #expect(paths == ["/gone", "/fine"])
        #expect(try await DeviceTests.tokens(flow.rig, "bob").count == 1)
        await flow.rig.end()
        await service.end()
    }
}
