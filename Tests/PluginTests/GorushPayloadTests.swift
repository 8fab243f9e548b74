import Foundation
import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// What becomes of gorush's fields.
@Suite struct GorushPayloadTests {
    @Test func `each example of gorush becomes the push that it describes`() async throws {
        let examples = try JSONValue.parse(try PluginRig.fixture("Gorush/examples.json"))
        guard case .array(let all) = examples else { return #expect(Bool(false)) }
        for example in all {
            let name = Comment(rawValue: example["example"]?.string ?? "")
            guard case .object(var fields) = example["notification"] else { continue }
            if example["notification"]?["to"] == nil {
                fields.append(.init("tokens", ["0a"]))
            }
            let note = try await GorushTests.built(
                JSONValue.object([.init("notifications", [.object(fields)])]).text)
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
