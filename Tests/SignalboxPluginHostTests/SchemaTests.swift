import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost
import Testing

@Suite struct SchemaTests {
    static let schema = """
        {"type":"object","required":["name","key"],"properties":{
          "name":{"type":"string","minLength":2,"maxLength":5,"pattern":"^[a-z]+$","description":"lower case"},
          "key":{"type":"string","format":"secret"},
          "mode":{"type":"string","enum":["fast","safe"],"default":"safe"},
          "count":{"type":"integer","minimum":1,"maximum":9,"default":3},
          "ratio":{"type":"number","maximum":1.5},
          "on":{"type":"boolean"},
          "list":{"type":"array","items":{"type":"string"},"maxItems":2},
          "inner":{"type":"object","properties":{"token":{"type":"string","format":"secret"}}},
          "free":{"type":"object","additionalProperties":true}
        }}
        """

    func check(_ json: String) throws -> (config: CheckedConfig, words: [String]) {
        let value = try PluginRig.config(json)
        let (config, diagnostics) = try ConfigSchema.parse(Self.schema).check(
            value, at: value.position, owner: "plugin \"p\"")
        return (config, diagnostics.map { "\($0.code): \($0.message)" })
    }

    @Test func `a config that fits has its defaults and no secret in it`() throws {
        let (config, words) = try check(
            #"{"name":"abc","key":"s3cret","inner":{"token":"t0ken"},"free":{"x":[1]},"ratio":1.5}"#
        )
        #expect(words == [])
        #expect(
            config.json
                == (try JSONValue.parse(
                    #"""
                    {"name":"abc","key":"key","inner":{"token":"inner.token"},"free":{"x":[1]},"ratio":1.5,
                    "mode":"safe","count":3}
                    """#)))
        #expect(config.secrets["key"]?.bytes == Array("s3cret".utf8))
        #expect(config.secrets["inner.token"]?.bytes == Array("t0ken".utf8))
    }

    @Test func `a field is known if a listed one is it, has it or is in it`() {
        let fields = ["id", "lp.message", "*"]
        for path in [["id"], ["id", "x"], ["lp"], ["lp", "message"], ["other", "x"]] {
            #expect(PluginFacts.isKnown(path, among: fields), "\(path)")
        }
        #expect(!PluginFacts.isKnown(["lp", "massage"], among: fields))
        #expect(!PluginFacts.isKnown(["other"], among: ["id"]))
        #expect(!PluginFacts.isKnown(["id"], among: []))
    }

    @Test func `a path is relative to gateway.yaml, and a schema says what its plugin emits`()
        throws
    {
        let schema = try ConfigSchema.parse(
            #"""
            {"type":"object","family":"apns","emits":{"ticket.replied":["id","a.b"]},
            "providerPushes":{"register":["x"]},
            "properties":{"ca":{"type":"string","format":"path","default":""}}}
            """#)
        #expect(schema.facts.family == "apns")
        #expect(schema.facts.emits?.map(\.type) == ["ticket.replied"])
        #expect(schema.facts.emits?.first?.fields == ["id", "a.b"])
        #expect(ConfigSchema.empty.facts.emits == nil)
        for (given, file) in [("x/ca.pem", "/etc/sb/x/ca.pem"), ("/ca.pem", "/ca.pem")] {
            let value = try PluginRig.config(#"{"ca":"\#(given)"}"#)
            let config = schema.check(
                value, at: value.position, owner: "p", folder: "/etc/sb"
            ).config
            #expect(config.json["ca"]?.string == file)
            #expect(config.files.map(\.path) == [file])
            #expect(config.files.map(\.key) == ["config.ca"])
            #expect(config.files.first?.value.string == given)
        }
        let none = schema.check(nil, at: .init(file: "f", line: 1, column: 1), owner: "p").config
        #expect(none.json["ca"]?.string == "" && none.files.isEmpty)
    }

    @Test func `a schema says which tokens are addresses and no devices`() throws {
        func rules(_ text: String) throws -> [AddressRule] {
            try ConfigSchema.parse(#"{"type":"object","addresses":\#(text)}"#).facts.addresses
        }
        func covers(_ text: String, _ token: String, _ kind: String = "") throws -> Bool {
            var device = Device(token: token)
            if !kind.isEmpty { device.attributes = [Attribute("kind", kind)] }
            let config = try JSONValue.parse(#"{"format":"chat"}"#)
            return try rules(text).contains { $0.covers(device, config: config) }
        }
        #expect(try covers("{}", "t"))
        #expect(try !covers("[]", "t"))
        #expect(try covers(#"{"config":{"format":["room","chat"]}}"#, "t"))
        #expect(try !covers(#"{"config":{"format":["json"]}}"#, "t"))
        #expect(try !covers(#"{"config":{"other":["chat"]}}"#, "t"))
        let mixed = #"[{"attributes":{"kind":["name"]}},{"token":"^topic:|[^a-z:]"}]"#
        #expect(try covers(mixed, "t", "name"))
        #expect(try !covers(mixed, "t", "phone"))
        #expect(try covers(mixed, "topic:news") && covers(mixed, "a@b"))
        #expect(try !covers(mixed, "fcm:abc"))
        for text in [#"{"format":["chat"]}"#, #"{"token":"("}"#, #"{"token":7}"#, #""all""#, "[1]"]
        {
            #expect(throws: SchemaFault.self, "\(text)") { try rules(text) }
        }
    }

    @Test(arguments: [
        (#"{"key":"k"}"#, #"missing-key: plugin "p": config.name is required (lower case)"#),
        (#"{"name":"ab","key":"k","nmae":1}"#, "did you mean \"name\""),
        (#"{"name":7,"key":"k"}"#, "config.name must be text: put quotes around it"),
        (#"{"name":"a","key":"k"}"#, "config.name must be 2 to 5 bytes long"),
        (#"{"name":"AB","key":"k"}"#, "does not have the right form: lower case"),
        (
            #"{"name":"ab","key":"k","mode":"fats"}"#,
            "must be one of fast, safe (did you mean \"fast\"?)"
        ),
        (#"{"name":"ab","key":"k","count":10}"#, "config.count must be from 1 to 9"),
        (#"{"name":"ab","key":"k","count":"x"}"#, "config.count must be a whole number"),
        (#"{"name":"ab","key":"k","ratio":2}"#, "config.ratio must be at most 1.5"),
        (#"{"name":"ab","key":"k","on":"yes"}"#, "config.on must be true or false"),
        (
            #"{"name":"ab","key":"k","list":["a","b","c"]}"#,
            "config.list must have at most 2 elements"
        ),
        (#"{"name":"ab","key":"k","list":["a",1]}"#, "config.list.1 must be text"),
        (#"{"name":"ab","key":"k","list":{}}"#, "config.list must be a list"),
        (#"{"name":"ab","key":"k","inner":[]}"#, "config.inner must be a map"),
    ])
    func `faults name the key and the fix`(json: String, words: String) throws {
        let found = try check(json).words
        #expect(found.count == 1)
        #expect(found.first?.contains(words) == true, "\(found)")
    }

    @Test func `all faults are reported at once`() throws {
        #expect(try check(#"{"name":7,"mode":1,"count":0,"x":1}"#).words.count == 5)
    }

    @Test func `a value from a variable counts as its words and is never shown`() throws {
        let at = SourcePosition(file: "f", line: 1, column: 1)
        func secret(_ text: String) -> ConfigValue {
            ConfigValue(.string(text), at: at, isSecret: true)
        }
        let map = ConfigValue(
            .map([
                .init(key: "name", keyPosition: at, value: secret("abc")),
                .init(key: "key", keyPosition: at, value: secret("k")),
                .init(key: "count", keyPosition: at, value: secret("4")),
                .init(key: "on", keyPosition: at, value: secret("true")),
                .init(key: "mode", keyPosition: at, value: secret("hunter2")),
            ]), at: at)
        let (config, diagnostics) = try ConfigSchema.parse(Self.schema).check(
            map, at: at, owner: "p")
        #expect(config.json["count"] == .integer(4))
        #expect(config.json["on"] == .bool(true))
        #expect(diagnostics.count == 1)
        #expect(!diagnostics.description.contains("hunter2"))
    }

    @Test(arguments: [
        ("{", "not JSON"), (#"{"type":"string"}"#, "must be object"),
        (#"{"type":"object","oneOf":[]}"#, "\"oneOf\" is not supported"),
        (#"{"type":"object","properties":{"a":{"type":"strin"}}}"#, "at /a: type must be one of"),
        (#"{"type":"object","properties":{"a":{"type":"array"}}}"#, "needs items"),
        (
            #"{"type":"object","properties":{"a":{"type":"integer","format":"secret"}}}"#,
            "must be of type string"
        ),
        (
            #"{"type":"object","properties":{"a":{"type":"string","pattern":"("}}}"#,
            "at /a: pattern is not an expression that can be used: it has a missing ): \"(\""
        ),
        (
            #"{"type":"object","properties":{"a":{"type":"string","pattern":"a(?!b)"}}}"#,
            "it has an operator that is unknown or unsupported: \"(?!\""
        ),
    ])
    func `a schema that cannot be used is refused`(schema: String, words: String) throws {
        let fault = #expect(throws: SchemaFault.self) { try ConfigSchema.parse(schema) }
        #expect(fault?.message.contains(words) == true, "\(fault?.message ?? "")")
    }

    @Test func `bundled plugins have usable schemas`() throws {
        for name in ["APNs", "FCM", "Zendesk"] {
            let descriptor = try PluginLibrary.load(PluginRig.bundled(name)).descriptor
            let text = try #require(descriptor.configSchema)
            _ = try ConfigSchema.parse(text)
        }
    }
}
