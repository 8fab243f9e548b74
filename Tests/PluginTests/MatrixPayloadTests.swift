import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// What becomes of a Matrix notification.
@Suite struct MatrixPayloadTests {
    /// The notifications that a request becomes, one for each device.
    static func built(_ body: String, config: String = "") async throws -> [PushNotification] {
        let rig = try await MatrixTests.rig(config)
        let result = await MatrixTests.post(rig, body)
        let notes = try result.events.map { event in
            try #require(try rig.build(event, event.recipients).contents.first).notification
        }
        #expect(await rig.end() == [])
        return notes
    }

    static func override(_ note: PushNotification, _ family: String) -> String? {
        note.overrides.first { $0.family == family }?.json
    }

    @Test func `on iOS the app shows one of its own texts, as with sygnal`() async throws {
        let note = try #require(
            try await Self.built(try PluginRig.fixture("Matrix/message.json")).first)
        #expect(note.title.isEmpty && note.body.isEmpty)
        #expect(
            Self.override(note, "localized")
                == #"{"body":{"loc_key":"MSG_FROM_USER_IN_ROOM_WITH_CONTENT","loc_args":["Major Tom","Mission Control","I'm floating in a most peculiar way."]}}"#
        )
        #expect(note.badge == 3 && note.sound == "bing" && note.priority == .high)
        #expect(
            note.data
                == #"{"room_id":"!slw48wfj34rtnrf:example.com","event_id":"$3957tyerfgewrf384"}"#)
        #expect(Self.override(note, "apns") == nil && !note.isSilent)
    }

    @Test func `the texts themselves, if they are wanted`() async throws {
        let note = try #require(
            try await Self.built(
                try PluginRig.fixture("Matrix/message.json"), config: #","alert":"texts""#
            ).first)
        #expect(note.title == "Mission Control")
        #expect(note.body == "Major Tom: I'm floating in a most peculiar way.")
        #expect(note.overrides.isEmpty)
    }

    @Test func `on Android the app gets data alone, with sygnal's names`() async throws {
        let note = try #require(
            try await Self.built(try PluginRig.fixture("Matrix/message.json")).last)
        #expect(note.isDataOnly && note.priority == .high && note.badge == nil)
        #expect(
            note.data
                == ##"{"event_id":"$3957tyerfgewrf384","type":"m.room.message","sender":"@exampleuser:matrix.org","room_name":"Mission Control","room_alias":"#exampleroom:matrix.org","sender_display_name":"Major Tom","room_id":"!slw48wfj34rtnrf:example.com","content_msgtype":"m.text","content_body":"I'm floating in a most peculiar way.","prio":"high","unread":"2","missed_calls":"1"}"##
        )
        #expect(Self.override(note, "shorten")?.contains("/content_body") == true)
    }

    @Test func `with event_id_only the pusher's payload goes with the ids`() async throws {
        let note = try #require(
            try await Self.built(try PluginRig.fixture("Matrix/event-id-only.json")).first)
        #expect(
            note.data
                == #"{"client":"example","room_id":"!slw48wfj34rtnrf:example.com","event_id":"$3957tyerfgewrf384","unread_count":2}"#
        )
        #expect(
            Self.override(note, "apns")
                == #"{"aps":{"mutable-content":1,"alert":{"loc-key":"SINGLE_UNREAD","loc-args":[]}}}"#
        )
        #expect(note.badge == nil && !note.isSilent && Self.override(note, "localized") == nil)
    }

    @Test func `with event_id_only and nothing to show the app is woken`() async throws {
        let body = MatrixTests.request(
            #"{"app_id":"org.matrix.example.ios","pushkey":"Chss","data":{"format":"event_id_only"}}"#,
            #""event_id":"$1","room_id":"!r","prio":"low""#)
        let note = try #require(try await Self.built(body).first)
        #expect(note.isSilent && note.priority == .normal)
        #expect(note.data == #"{"room_id":"!r","event_id":"$1"}"#)
    }

    @Test func `counts alone set the badge and show nothing`() async throws {
        let body = try PluginRig.fixture("Matrix/counts.json")
        let note = try #require(try await Self.built(body).first)
        #expect(note.badge == 0 && note.overrides.isEmpty && note.data.isEmpty && !note.isSilent)
        let android = try #require(
            try await Self.built(body.replacing("example.ios", with: "example.droid")).first)
        #expect(android.isDataOnly)
        #expect(android.data.hasSuffix(#""prio":"high","unread":"0"}"#))
    }

    @Test func `no counts, if none are wanted`() async throws {
        let notes = try await Self.built(
            try PluginRig.fixture("Matrix/message.json"), config: #","badge":false"#)
        #expect(notes[0].badge == nil && !notes[1].data.contains("unread"))
        #expect(
            try await Self.built(
                try PluginRig.fixture("Matrix/counts.json"), config: #","badge":false"#
            ).isEmpty)
    }

    @Test func `the pusher's payload lies below the notification`() async throws {
        let device = #"""
            {"app_id":"org.matrix.example.ios","pushkey":"Chss","tweaks":{"sound":"bing"},"data":{
            "default_payload":{"aps":{"alert":{"loc-key":"OLD","launch-image":"i"},"sound":"old",
            "badge":9,"mutable-content":1},"event_id":"x","client":"c"}}}
            """#
        let body = MatrixTests.request(
            device,
            #"""
            "event_id":"$1","type":"m.room.message","sender":"@a:b","counts":{"unread":4}
            """#)
        let note = try #require(try await Self.built(body).first)
        #expect(note.badge == 4 && note.data == #"{"client":"c","event_id":"$1"}"#)
        #expect(
            Self.override(note, "apns")
                == #"{"aps":{"alert":{"loc-key":"MSG_FROM_USER","launch-image":"i","loc-args":["@a:b"]},"sound":"bing","mutable-content":1}}"#
        )
    }

    @Test(arguments: [
        (
            #""type":"m.room.message","content":{"msgtype":"m.text","body":"hi"}"#,
            "MSG_FROM_USER_WITH_CONTENT", ["A", "hi"]
        ),
        (
            #""type":"m.room.message","content":{"msgtype":"m.emote","body":"waves"}"#,
            "ACTION_FROM_USER", ["A", "waves"]
        ),
        (
            ##""type":"m.room.message","room_alias":"#r","content":{"msgtype":"m.emote","body":"waves"}"##,
            "ACTION_FROM_USER_IN_ROOM", ["#r", "A", "waves"]
        ),
        (
            #""type":"m.room.message","content":{"msgtype":"m.image","body":"cat"}"#,
            "IMAGE_FROM_USER", ["A", "cat"]
        ),
        (
            #""type":"m.room.message","room_name":"R","content":{"msgtype":"m.image","body":"cat"}"#,
            "IMAGE_FROM_USER_IN_ROOM", ["A", "cat", "R"]
        ),
        (#""type":"m.room.encrypted","room_name":"R""#, "MSG_FROM_USER_IN_ROOM", ["A", "R"]),
        (
            #""type":"m.call.invite","content":{"offer":{"sdp":"v=0 m=audio"}}"#,
            "VOICE_CALL_FROM_USER", ["A"]
        ),
        (
            #""type":"m.call.invite","content":{"offer":{"sdp":"v=0 m=video"}}"#,
            "VIDEO_CALL_FROM_USER", ["A"]
        ),
        (
            #""type":"m.room.member","membership":"invite","user_is_target":true"#,
            "USER_INVITE_TO_CHAT", ["A"]
        ),
        (
            #""type":"m.room.member","content":{"membership":"invite"},"user_is_target":true,"room_name":"R""#,
            "USER_INVITE_TO_NAMED_ROOM", ["A", "R"]
        ),
        (
            #""type":"m.room.message","content":{"msgtype":"m.file","body":"a.pdf"}"#,
            "MSG_FROM_USER_WITH_CONTENT", ["A", "a.pdf"]
        ),
        (#""type":"m.room.message","content":{"msgtype":"m.text"}"#, "MSG_FROM_USER", ["A"]),
        (#""type":"org.example.poll""#, "MSG_FROM_USER", ["A"]),
    ])
    func `every kind of event has its text`(fields: String, name: String, arguments: [String])
        async throws
    {
        let body = MatrixTests.request(
            MatrixTests.ios, #""event_id":"$1","sender_display_name":"A",\#(fields)"#)
        let note = try #require(try await Self.built(body).first)
        let json = try JSONValue.parse(try #require(Self.override(note, "localized")))
        #expect(json["body"]?["loc_key"]?.string == name)
        #expect(json["body"]?["loc_args"] == .array(arguments.map { .string($0) }))
        let plain = try #require(try await Self.built(body, config: #","alert":"texts""#).first)
        #expect(!plain.title.isEmpty)
    }
}
