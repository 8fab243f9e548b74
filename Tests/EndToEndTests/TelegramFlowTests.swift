import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxSimulators
import Testing

/// `Examples/telegram`: from an event to chats, with dead chats and groups that move.
@Suite(.timeLimit(.minutes(5))) struct TelegramFlowTests {
    private static func post(_ rig: ExampleRig, _ recipients: Recipient...) async throws {
        var event = Event(
            source: "shop", type: "order.shipped", subject: "order/5",
            data: #"{"title":"Shipped","body":"On its way"}"#)
        event.recipients = recipients
        _ = try await rig.gateway.submit([event], from: "shop")
    }

    private static func user(_ name: String) -> Recipient {
        Recipient(device: Device(app: "shop", user: name))
    }

    private static func chat(_ token: String) -> Recipient {
        Recipient(device: Device(platform: "telegram", token: token))
    }

    @Test func `chats get messages, dead ones leave the registry, and a group is followed`()
        async throws
    {
        let rig = try await ExampleRig("telegram")
        let telegram = rig.simulators.telegram
        for (user, token) in [("u-1", "111"), ("u-2", "222"), ("u-3", "-333")] {
            try await rig.register(user, token, "telegram")
        }
        try await telegram.take(
            .fail(
                tokens: ["222"], status: 403, reason: "Forbidden: bot was blocked by the user",
                times: nil))
        try await telegram.take(
            .fail(tokens: ["-333"], status: 400, reason: "migrate -100333", times: nil))
        try await Self.post(
            rig, Self.user("u-1"), Self.user("u-2"), Self.user("u-3"), Self.chat("@newsroom"))
        let own = try await rig.push(telegram, to: "111") { $0.status == 200 }
        #expect(own.body["text"]?.string == "Shipped\nOn its way")
        _ = try await rig.push(telegram, to: "@newsroom") { $0.status == 200 }
        _ = try await rig.push(telegram, to: "-100333") { $0.status == 200 }
        // The registry has heard of both.
        for (user, tokens) in [("u-2", [String]()), ("u-3", ["-100333"])] {
            while try await rig.tokens(of: user) != tokens {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        // Of an event that comes later, nothing goes to the old id.
        telegram.forget()
        try await Self.post(rig, Self.user("u-3"), Self.chat("-333"))
        _ = await telegram.wait(for: 2)
        #expect(telegram.received.map(\.token) == ["-100333", "-100333"])
        #expect(!rig.log.all.contains { $0.contains("sim-telegram-bot-token") })
        await rig.end()
    }
}
