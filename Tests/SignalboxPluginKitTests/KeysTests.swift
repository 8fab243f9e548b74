import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import SignalboxPluginKit
import Testing

/// What a config's initializer asks for becomes a schema that the host understands.
@Suite struct KeysTests {
    private enum Mode: String, CaseIterable { case quick, safe }

    private static let schema = Keys.schema(#""family": "probe""#) { keys in
        _ = keys.text("name", bytes: 1...8, pattern: "^[a-z]+$", "who")
        _ = keys.text("sound", default: "")
        _ = keys.secret("key", bytes: 16...)
        _ = keys.choice("mode", Mode.self)
        _ = keys.choice("form", ["a", "b"], isOptional: true)
        _ = keys.number("limit", 1...9 as ClosedRange<UInt8>, default: 4)
        _ = keys.number("port", oneOf: [443, 2197])
        _ = keys.flag("loud", default: true)
        _ = keys.texts("apps", count: ...3, bytes: 1...)
        _ = keys.secrets("tokens", count: ...2)
        _ = try keys.list("targets", count: 1...2) { $0.uri("url", bytes: 8..., default: nil) }
        _ = try keys.object("api", isRequired: true, "the API") { $0.file("ca") }
        throw PluginError(.invalid, "a check that fails without values is behind the last key")
    }

    @Test func `a schema has what is asked for, with limits and defaults`() throws {
        let expected = """
            {"type":"object","family": "probe","required":["name","targets","api"],"properties":{
            "name":{"type":"string","minLength":1,"maxLength":8,"pattern":"^[a-z]+$","description":"who"},
            "sound":{"type":"string","default":""},
            "key":{"type":"string","format":"secret","minLength":16},
            "mode":{"type":"string","enum":["quick","safe"],"default":"quick"},
            "form":{"type":"string","enum":["a","b"]},
            "limit":{"type":"integer","minimum":1,"maximum":9,"default":4},
            "port":{"type":"integer","enum":[443,2197],"default":443},
            "loud":{"type":"boolean","default":true},
            "apps":{"type":"array","maxItems":3,"default":[],"items":{"type":"string","minLength":1}},
            "tokens":{"type":"array","maxItems":2,"default":[],\
            "items":{"type":"string","format":"secret","minLength":1}},
            "targets":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"object",\
            "required":["url"],"properties":{"url":{"type":"string","format":"uri","minLength":8}}}},
            "api":{"type":"object","description":"the API","properties":{\
            "ca":{"type":"string","format":"path","default":""}}}}}
            """
        #expect(Self.schema == expected.replacing("\n", with: ""))
    }

    @Test func `the host fills in each default`() throws {
        let schema = try ConfigSchema.parse(Self.schema)
        let (config, faults) = schema.check(
            nil, at: SourcePosition(file: "gateway.yaml", line: 1, column: 1), owner: "plugin")
        #expect(
            config.json.text
                == #"{"sound":"","mode":"quick","limit":4,"port":443,"loud":true,"apps":[],"tokens":[]}"#
        )
        #expect(faults.map(\.code) == ["missing-key", "missing-key", "missing-key"])
        #expect(schema.facts.family == "probe")
    }
}
