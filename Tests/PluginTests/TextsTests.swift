import PluginRig
import SignalboxCore
import Testing

/// Plugins/Texts.
@Suite struct TextsTests {
    @Test func `each device gets its language, and a language is built once`() async throws {
        let rig = try await RoleRig("Texts", config: #"{"language":"en"}"#)
        let event = Event(
            type: "order.shipped",
            data:
                #"{"title":{"en":"Shipped","de":"Versandt","pt-BR":"Enviado"},"body":{"de":"Heute"},"link":"app://o/1","payload":{"order":1}}"#
        )
        let locales = ["de-AT", "en", "pt_br", "", "fr", "de"]
        let built = try rig.build(
            event, locales.map { Recipient(device: Device(token: "t", locale: $0)) })
        #expect(built.contents.map(\.notification.title) == ["Versandt", "Shipped", "Enviado"])
        #expect(built.contents.map { $0.targets.map(\.recipient) } == [[0, 5], [1, 3, 4], [2]])
        // A text that lacks this language uses the instance's, else its first language.
        #expect(built.contents.map(\.notification.body) == ["Heute", "Heute", "Heute"])
        #expect(built.contents.allSatisfy { $0.notification.link == "app://o/1" })
        #expect(built.contents.allSatisfy { $0.notification.data == #"{"order":1}"# })
        #expect(await rig.end() == [])
    }

    @Test func `plain texts, badges and silence`() async throws {
        let rig = try await RoleRig("Texts", config: #"{"sound":""}"#)
        let event = Event(type: "x", data: #"{"title":"T","badge":3,"silent":true,"body":7}"#)
        let built = try rig.build(
            event,
            [
                Recipient(device: Device(token: "a")),
                Recipient(device: Device(token: "b"), attributes: [Attribute("badge", "9")]),
            ])
        let note = try #require(built.contents.first?.notification)
        #expect(built.contents.count == 1)
        #expect(note.title == "T" && note.body == "" && note.sound == "" && note.isSilent)
        #expect(note.badge == 3)
        #expect(built.contents.first?.targets.map(\.badge) == [nil, 9])
        #expect(await rig.end() == [])
    }
}
