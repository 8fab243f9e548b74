import PluginRig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import SignalboxPluginHost

/// Plugins/Telegram: what it sends, and what it makes of answers.
@Suite struct TelegramTests {
    private static let token = "123456789:AAE-a_token_of_a_bot"

    private static func rig(_ more: String = "") async throws -> SendRig {
        let config = #"{"bot_token":"\#(token)"\#(more)}"#
        return try await SendRig("Telegram", config: config, services: RigServices())
    }

    private static func text(_ body: JSONValue, bold: Bool = true) throws -> String {
        let text = try #require(body["text"]?.string)
        guard bold else { return text }
        let entity = try #require(body["entities"]?[0])
        #expect(entity["type"]?.string == "bold" && entity["offset"]?.integer == 0)
        #expect(Int(entity["length"]?.integer ?? -1) <= text.utf16.count)
        return text
    }

    @Test(arguments: ["x", "é", "📦", "👩‍👩‍👧‍👦", "ก็"])
    func `a text that is too long is cut between characters`(piece: String) async throws {
        let rig = try await Self.rig()
        let long = String(repeating: piece, count: 5_000)
        let body = try await rig.render(token: "5") {
            $0.title = long
            $0.subtitle = long
            $0.body = long
        }.body
        let text = try Self.text(body)
        #expect((4_050...4_096).contains(text.utf16.count), "\(text.utf16.count)")
        let lines = text.split(separator: "\n")
        #expect(lines.count == 3 && lines.allSatisfy { $0.hasSuffix("…") })
        #expect(lines.allSatisfy { $0.dropLast().allSatisfy { String($0) == piece } })
        await rig.end()
    }
}
