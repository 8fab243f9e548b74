import SignalboxCore
import Testing

@Suite struct PlatformSendersTests {
    private static func route(_ senders: [String: String]) -> Route {
        Route(name: "r", sources: ["s"], builder: "b", senders: senders)
    }

    @Test func `a token is one phone's on all platforms of its sender, and on no other`() {
        let senders = PlatformSenders([
            Self.route(["ios": "apns", "iPad": "apns", "email": "mail"]),
            Self.route(["ios": "test", "watch": "test"]),
        ])
        #expect(senders.known == ["email", "ios", "ipad", "watch"])
        #expect(senders.senders(of: "ios") == ["apns", "test"])
        #expect(senders.platforms(with: "ios") == ["ios", "ipad", "watch"])
        #expect(senders.platforms(with: "ipad") == ["ios", "ipad"])
        #expect(senders.platforms(with: "email") == ["email"])
        // A made-up platform is another one than all.
        #expect(senders.platforms(with: "mail") == ["mail"])
        #expect(senders.senders(of: "mail").isEmpty)
    }
}
