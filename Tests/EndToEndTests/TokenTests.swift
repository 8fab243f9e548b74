import Foundation
import SignalboxCore
import SignalboxJSON
import SignalboxSimulators
import Testing

@Suite struct TokenTests {
    private static func tokens(_ flow: RegistryRig, _ user: String) async throws -> [String] {
        try await DeviceTests.tokens(flow.rig, user)
    }

    @Test func `an iOS token is one device, however it is written`() async throws {
        let flow = try await RegistryRig()
        let digits = String(repeating: "0a1b2c3d", count: 8)
        let (upper, marked) = (digits.uppercased(), "<\(digits)>")
        for (spelling, platform) in [
            (upper, "ios"), (marked, "ios"), (digits, "iOS"),
        ] {
            try await flow.register("u", spelling, platform: platform)
        }
        #expect(try await Self.tokens(flow, "u") == [digits])
        let said = try await flow.call(
            "PUT", "/v1/devices/presence", #"{"user":"u","online":true,"token":"\#(upper)"}"#)
        #expect(said.json["updated"]?.integer == 1)
        // The phone's next user has the token, the first one no longer has it.
        try await flow.register("v", upper)
        #expect(try await Self.tokens(flow, "u") == [])
        let gone = try await flow.call("DELETE", "/v1/devices?token=%3C\(upper)%3E")
        #expect(gone.json["removed"]?.integer == 1)
        #expect(try await Self.tokens(flow, "v") == [])
        // Other providers' tokens are case-sensitive.
        try await flow.register("u", "AB", platform: "android")
        try await flow.register("u", "ab", platform: "android")
        #expect(try await Self.tokens(flow, "u") == ["ab", "AB"])
        await flow.rig.end()
    }

    @Test func `with unique false a token stays with its other users`() async throws {
        let flow = try await RegistryRig()
        func register(_ user: String, _ members: String) async throws -> UInt32 {
            try await flow.call(
                "POST", "/v1/devices",
                #"{"user":"\#(user)","token":"<0A1B>","platform":"ios"\#(members)}"#
            ).status
        }
        #expect(try await register("u", "") == 200)
        #expect(try await register("v", #","unique":false"#) == 200)
        #expect(try await Self.tokens(flow, "u") == ["0a1b"])
        #expect(try await Self.tokens(flow, "v") == ["0a1b"])
        try await flow.notify(["u"])
        try await flow.notify(["v"])
        #expect(await flow.taken(2).map(\.token) == ["0a1b", "0a1b"])
        // One user's logout leaves the other's registration alone.
        _ = try await flow.call("DELETE", "/v1/devices?user=v")
        #expect(try await Self.tokens(flow, "u") == ["0a1b"])
        #expect(try await register("v", #","unique":false"#) == 200)
        #expect(try await register("w", #","unique":true"#) == 200)
        for user in ["u", "v"] { #expect(try await Self.tokens(flow, user) == []) }
        #expect(try await register("w", #","unique":"no""#) == 400)
        #expect(try await register("v", #","unique":false"#) == 200)
        let all = try await flow.call("DELETE", "/v1/devices?token=0a1b")
        #expect(all.json["removed"]?.integer == 2)
        await flow.rig.end()
    }
}
