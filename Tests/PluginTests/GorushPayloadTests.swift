import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// What becomes of gorush's fields.
@Suite struct GorushPayloadTests {
    @Test func `every documented field for iOS reaches the payload`() async throws {
        let note = try await GorushTests.built(try PluginRig.fixture("Gorush/ios.json"))
        #expect(note.title == "Game Request" && note.subtitle == "Poker")
        #expect(note.body == "Bob wants to play" && note.badge == 5)
        #expect(note.category == "GAME" && note.thread == "games" && note.collapse == "game-1")
        #expect(note.pushType == "alert" && note.priority == .high && note.isMutable)
        #expect(note.expiresUnixMs == 32_503_680_000_000 && !note.isSilent)
        #expect(note.data == #"{"key1":"welcome","key2":2}"#)
        let aps = try GorushTests.override(note, "apns")["aps"]
        #expect(
            aps?.text
                == #"{"content-available":1,"mutable-content":1,"sound":{"critical":1,"name":"bell.caf","volume":0.5},"interruption-level":"time-sensitive","url-args":["boarding","A998"],"alert":{"action":"Play","action-loc-key":"PLAY","launch-image":"cards.png","summary-arg":"Bob","summary-arg-count":2}}"#
        )
    }

    @Test func `each example of gorush becomes the push that it describes`() async throws {
        let examples = try JSONValue.parse(try PluginRig.fixture("Gorush/examples.json"))
        guard case .array(let all) = examples else { return #expect(Bool(false)) }
        for example in all {
            let name = Comment(rawValue: example["example"]?.string ?? "")
            guard case .object(var fields) = example["notification"] else { continue }
            if example["notification"]?["to"] == nil {
                fields.append(.init("tokens", .array([.string("0a")])))
            }
            let note = try await GorushTests.built(
                JSONValue.object([.init("notifications", .array([.object(fields)]))]).text)
            #expect(note.title == example.at("title") && note.body == example.at("body"), name)
            #expect(note.badge.map { Int64($0) } == example["badge"]?.integer, name)
            #expect(note.sound == example.at("sound"), name)
            #expect(note.data == example["data"]?.text ?? "", name)
            for family in ["apns", "fcm", "hms"] {
                let made = note.overrides.first { $0.family == family }?.json
                #expect(made == example[family]?.text, name)
            }
        }
    }

    @Test(arguments: [
        (
            #""platform":1,"push_type":"liveactivity","event":"start","content-state":{}"#,
            "attributes-type"
        ),
        (
            #""platform":1,"push_type":"liveactivity","event":"start","content-state":{},"attributes-type":"A","attributes":{}"#,
            "needs an alert"
        ),
        (#""platform":1,"push_type":"liveactivity","event":"begin""#, "start, update or end"),
        (#""platform":1,"push_type":"liveactivity","event":"update""#, "content-state"),
        (#""platform":2,"message":"m","data":{"google.x":"1"}"#, "google.x"),
    ])
    func `a push that cannot be made is named in the answer`(
        fields: String, words: String
    ) async throws {
        let rig = try await RoleRig("Gorush", config: "{}")
        let result = await GorushTests.post(rig, GorushTests.one(fields))
        #expect(result.events.isEmpty && result.answer?.status == 200)
        let answer = try GorushTests.json(result)
        #expect(answer["counts"]?.integer == 0)
        let log = answer["logs"]?[0]
        #expect(log?["type"]?.string == "failed-push")
        #expect(log?["error"]?.string?.contains(words) == true)
        #expect(await rig.end() == [])
    }

    @Test(arguments: [
        (#""message":"m""#, "", "m"), (#""message":"m","title":"t""#, "t", "m"),
        (#""message":"m","alert":{"title":"a"}"#, "a", "m"),
        (#""message":7,"title":true"#, "true", "7"),
    ])
    func `message and title, unless alert has its own`(
        fields: String, title: String, body: String
    ) async throws {
        let note = try await GorushTests.built(GorushTests.one(#""platform":1,\#(fields)"#))
        #expect(note.title == title && note.body == body && note.overrides.isEmpty)
    }

    @Test(arguments: [
        (#""platform":1,"message":"m""#, Priority.high),
        (#""platform":1,"message":"m","priority":"normal""#, .normal),
        (#""platform":2,"message":"m""#, .high), (#""platform":2,"data":{"a":"b"}"#, nil),
        (#""platform":2,"data":{"a":"b"},"priority":"high""#, .high),
    ])
    func `without a priority it is what Apple and Google assume`(
        fields: String, priority: Priority?
    ) async throws {
        let note = try await GorushTests.built(GorushTests.one(fields))
        #expect(note.priority == priority)
    }

    @Test func `texts in the app are named with their arguments`() async throws {
        let note = try await GorushTests.built(
            GorushTests.one(
                #"""
                "platform":1,"alert":{"loc-key":"PLAY","loc-args":["Bob",2],"title-loc-key":"T"}
                """#))
        #expect(
            try GorushTests.override(note, "localized").text
                == #"{"title":{"loc_key":"T"},"body":{"loc_key":"PLAY","loc_args":["Bob","2"]}}"#)
    }

    @Test(arguments: [
        (#""sound":"bell.caf""#, "bell.caf", nil),
        (#""sound":"x","name":"n""#, "x", #"{"critical":1,"name":"n","volume":1.0}"#),
        (#""volume":0.5"#, "", #"{"critical":1,"name":"default","volume":0.5}"#),
    ])
    func `a sound by name, or a critical one`(fields: String, sound: String, critical: String?)
        async throws
    {
        let note = try await GorushTests.built(
            GorushTests.one(#""platform":1,"message":"m",\#(fields)"#))
        #expect(note.sound == sound)
        let aps = note.overrides.isEmpty ? nil : try GorushTests.override(note, "apns")["aps"]
        #expect(aps?["sound"]?.text == critical)
    }

    @Test(arguments: [
        (#""content_available":true"#, true), (#""content_available":true,"data":{"a":1}"#, true),
        (#""content_available":true,"message":"m""#, false),
        (#""content_available":true,"badge":0"#, false),
        (#""content_available":true,"push_type":"alert""#, false), (#""badge":0"#, false),
    ])
    func `a push with nothing to show wakes the app`(fields: String, isSilent: Bool) async throws {
        let note = try await GorushTests.built(GorushTests.one(#""platform":1,\#(fields)"#))
        #expect(note.isSilent == isSilent)
        let wakes = note.overrides.contains { $0.json.contains("content-available") }
        #expect(wakes == (!isSilent && fields.contains("content_available")))
    }

    @Test func `a Live Activity keeps its fields`() async throws {
        let note = try await GorushTests.built(
            GorushTests.one(
                #"""
                "platform":1,"push_type":"liveactivity","event":"update","timestamp":1700000000,
                "content-state":{"home":1},"stale-date":1700000100,"dismissal-date":1700000200
                """#))
        #expect(note.pushType == "liveactivity")
        #expect(
            try GorushTests.override(note, "apns").text
                == #"{"aps":{"content-state":{"home":1},"timestamp":1700000000,"event":"update","stale-date":1700000100,"dismissal-date":1700000200}}"#
        )
    }

    @Test func `aps in data is left out, because the other fields make it`() async throws {
        let note = try await GorushTests.built(
            GorushTests.one(#""platform":1,"message":"m","data":{"aps":{"badge":1},"a":1}"#))
        #expect(note.data == #"{"a":1}"#)
    }

    @Test func `every documented field for Android reaches the message`() async throws {
        let rig = try await RoleRig("Gorush", config: "{}", services: RigServices(nowUnixMs: 5_000))
        let body = try PluginRig.fixture("Gorush/android.json")
        let event = try #require(await GorushTests.post(rig, body).events.first)
        #expect(event.recipients.map(\.device.token) == ["fcm:1", "fcm:2"])
        let built = try rig.build(event, event.recipients)
        #expect(built.contents.count == 1)
        let note = try #require(built.contents.first).notification
        #expect(note.title == "You got message" && note.body == "Hello World Android!")
        #expect(note.imageURL == "https://example.com/cat.png" && note.sound == "bell")
        #expect(note.priority == .high && !note.isDataOnly && note.expiresUnixMs == 605_000)
        #expect(note.data == #"{"Nick":"Mario","body":"great match!","round":2}"#)
        let fcm = try GorushTests.override(note, "fcm")
        #expect(
            fcm["android"]?.text
                == ##"{"collapse_key":"orders","restricted_package_name":"com.example.app","notification":{"icon":"myicon","color":"#ffffff","tag":"order","click_action":"OPEN","body_loc_key":"ORDER","body_loc_args":["18"],"title_loc_args":["plain"],"channel_id":"orders"}}"##
        )
        #expect(fcm["webpush"]?["headers"]?["TTL"]?.string == "60")
        #expect(fcm["apns"]?["payload"]?["aps"]?["badge"]?.integer == 3)
        #expect(fcm["fcm_options"]?["analytics_label"]?.string == "orders")
        #expect(await rig.end() == [])
    }

    @Test func `without texts the app gets data alone`() async throws {
        let data = try await GorushTests.built(
            GorushTests.one(#""platform":2,"data":{"a":"b"},"dry_run":true,"time_to_live":0"#))
        #expect(data.isDataOnly && data.isDryRun && data.expiresUnixMs == 0)
        #expect(try GorushTests.override(data, "fcm").text == #"{"android":{"ttl":"0s"}}"#)
        let shown = try await GorushTests.built(
            GorushTests.one(#""platform":2,"notification":{"title":"t","body":"b"}"#))
        #expect(!shown.isDataOnly && shown.title == "t" && shown.body == "b")
        #expect(shown.overrides.isEmpty)
    }

    @Test func `every documented field for Huawei reaches the message`() async throws {
        let note = try await GorushTests.built(try PluginRig.fixture("Gorush/huawei.json"))
        #expect(note.title == "Order" && note.body == "On its way" && !note.isDataOnly)
        #expect(note.data == #"{"order":"18"}"#)
        #expect(
            try GorushTests.override(note, "hms").text
                == #"{"android":{"collapse_key":7,"fast_app_target":1,"ttl":"600s","bi_tag":"orders","notification":{"click_action":{"type":3},"channel_id":"orders"}}}"#
        )
        let text = try await GorushTests.built(
            GorushTests.one(#""platform":3,"huawei_data":"plain""#))
        #expect(text.data.isEmpty && text.isDataOnly)
        #expect(try GorushTests.override(text, "hms").text == #"{"data":"plain"}"#)
    }

    @Test func `hostile bodies are refused with a reason, and hostile fields harm nobody`()
        async throws
    {
        let rig = try await RoleRig("Gorush", config: "{}")
        for (name, bytes) in HostileBodies.all {
            let result = await rig.handle(bytes, path: "/api/push")
            #expect(result.fault?.kind == .invalid, "\(name)")
        }
        let good = #"{"platform":1,"tokens":["0a"],"message":"m"}"#
        for name in ["ios", "android", "huawei"] {
            let whole = try JSONValue.parse(try PluginRig.fixture("Gorush/\(name).json"))
            guard case .object(let members)? = whole["notifications"]?[0] else { return }
            for member in members {
                for value in HostileBodies.values {
                    let text = members.map {
                        JSONValue.string($0.key).text + ":"
                            + ($0.key == member.key ? value : $0.value.text)
                    }.joined(separator: ",")
                    let result = await GorushTests.post(
                        rig, #"{"notifications":[{\#(text)},\#(good)]}"#)
                    if let fault = result.fault {
                        #expect(fault.kind == .invalid)
                        continue
                    }
                    #expect(result.events.last?.recipients.map(\.device.token) == ["0a"])
                    for event in result.events { _ = try rig.build(event, event.recipients) }
                }
            }
        }
        #expect(await rig.end() == [])
    }
}
