import Foundation
import SignalboxConfig
import SignalboxCore
import SignalboxJSON

@testable import Signalbox
@testable import SignalboxOffline
@testable import SignalboxPluginHost

extension FuzzTarget {
    /// The body of a webhook, through the ABI: the first byte chooses the plugin, the second its path. Every
    /// signature counts as valid.
    static let ingest = FuzzTarget(name: "ingest") { input in
        guard input.count >= 2 else { return }
        let role = FuzzedPlugins.ingest[Int(input[0]) % FuzzedPlugins.ingest.count]
        let path = role.paths[Int(input[1]) % role.paths.count]
        var request = IngestRequest(
            method: path.methods.first ?? "POST", path: path.pattern, pattern: path.pattern,
            body: [UInt8](input.dropFirst(2)), receivedUnixMs: 1_700_000_000_000)
        request.headers = FuzzedPlugins.headers
        let end = DispatchSemaphore(value: 0)
        role.handle(request) { result in
            for event in result.events {
                require(!event.type.isEmpty, "an event without a type")
                let data = try? JSONValue.parse(event.data)
                require(event.data.isEmpty || data != nil, "data that is no JSON")
            }
            end.signal()
        }
        require(end.wait(timeout: .now() + 8) == .success, "no result")
        FuzzedPlugins.checkMisdeeds()
    }

    /// The answer of a provider, through the ABI: the first byte chooses the plugin, then come two of status.
    static let classify = FuzzTarget(name: "classify") { input in
        guard input.count >= 3 else { return }
        let role = FuzzedPlugins.senders[Int(input[0]) % FuzzedPlugins.senders.count]
        let status = UInt32(input[1]) * 256 + UInt32(input[2])
        let answer = HTTPResponse(
            status: 100 + status % 500,
            headers: [Attribute("retry-after", "7"), Attribute("apns-id", "a")],
            body: [UInt8](input.dropFirst(3)), items: [7, 8])
        let (settled, requests) = role.classify(app: "", responses: [answer])
        require(
            settled.allSatisfy { $0.item == 7 || $0.item == 8 }, "an outcome of another delivery")
        require(Set(settled.map(\.item)).count == settled.count, "a delivery ends twice")
        require(settled.count <= 2 && requests.requests.count <= 2, "too much of two deliveries")
        FuzzedPlugins.checkMisdeeds()
    }
}

/// Instances of bundled plugins, which lie beside this program.
private enum FuzzedPlugins {
    static let services = OfflineServices(
        answers: [.fallback], heldUnixMs: 1_700_000_000_000, isTrusting: true)

    static let headers = [
        Attribute("content-type", "application/json"), Attribute("x-signature", "00"),
        Attribute("x-sendbird-signature", "00"), Attribute("x-api-key", "hook-secret"),
        Attribute("x-zendesk-webhook-signature", "00"),
        Attribute("x-zendesk-webhook-signature-timestamp", "2023-11-14T22:13:20Z"),
        // lp:secret
        Attribute("authorization", "Basic bHA6c2VjcmV0"),
    ]

    /// In this order in the corpus.
    static let ingest: [any Ingesting] = [
        ("Gorush", "{}"), ("Zendesk", #"{"path":"/in/z"}"#),
        ("Sendbird", #"{"path":"/in/sb","app_id":"APP","api_token":"master-api-token"}"#),
        (
            "SendbirdDesk",
            #"{"app_id":"APP","path":"/in/desk","api_token":"t","chat_path":"/in/c","chat_tokens":["c"]}"#
        ),
        (
            "ZendeskMessaging",
            #"{"path":"/in/zm","webhook_secret":"hook-secret","app":"a.b","api":{"subdomain":"d","key_id":"k","key_secret":"s"}}"#
        ),
        ("LivePerson", #"{"path":"/in/lp","user":"lp","password":"secret"}"#),
    ].map { name, config in
        wait {
            guard let role = try await IngestRole(instance(name, config), limits: Limits()) else {
                fatalError("\(name) takes no webhooks")
            }
            return role
        }
    }

    static let senders: [any Translating] = [
        ("Airship", #"{"app_key":"k","master_secret":"m"}"#),
        ("Telegram", #"{"bot_token":"123456789:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#),
        ("Webhook", #"{"url":"https://example.com/h"}"#),
        ("HMS", #"{"client_id":"c","client_secret":"s"}"#),
        (
            "APNs",
            #"{"team_id":"ABCDE12345","key_id":"FGHIJ67890","key":"key","topic":"com.example.app"}"#
        ),
        (
            "FCM",
            #"{"service_account":"{\"project_id\":\"p-1\",\"client_email\":\"a@b\",\"private_key_id\":\"k\",\"private_key\":\"key\",\"token_uri\":\"https://oauth2.googleapis.com/token\"}"}"#
        ),
    ].map { name, config in
        wait {
            guard let role = SendHTTPRole(try await instance(name, config)) else {
                fatalError("\(name) sends nothing")
            }
            return role
        }
    }

    private static func instance(_ name: String, _ config: String) async throws -> PluginInstance {
        let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let library = try PluginLibrary.load(folder.appending(path: "lib\(name).so").path)
        let schema = try library.descriptor.configSchema.map { try ConfigSchema.parse($0) }
        let given = ConfigValue(
            try JSONValue.parse(config), at: SourcePosition(file: "fuzz", line: 1, column: 1))
        let (checked, diagnostics) = (schema ?? .empty).check(
            given, at: given.position, owner: name)
        guard diagnostics.isEmpty else { fatalError("\(name): \(diagnostics)") }
        let made = try await PluginInstance.create(
            name: name.lowercased(), library: library, config: checked, version: "fuzz",
            services: services)
        try await made.start()
        return made
    }

    private static func wait<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) -> Value {
        let end = DispatchSemaphore(value: 0)
        nonisolated(unsafe) var value: Value?
        Task {
            do { value = try await work() } catch { fatalError("the instance: \(error)") }
            end.signal()
        }
        end.wait()
        guard let value else { fatalError("no instance") }
        return value
    }

    /// What a plugin does against the contract ends the process.
    static func checkMisdeeds() {
        require(services.misdeeds.isEmpty, "\(services.misdeeds)")
        _ = services.takeLines()
    }
}
