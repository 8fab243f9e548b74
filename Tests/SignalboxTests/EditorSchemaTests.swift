import SignalboxConfig
import SignalboxCore
import SignalboxJSON
import Testing

@testable import Signalbox
@testable import SignalboxOffline

/// The JSON Schema that `signalbox schema` prints.
@Suite struct EditorSchemaTests {
    private static let plugin = """
        {"type":"object","family":"x","emits":{"a":["*"]},"required":["path"],"properties":{
          "path":{"type":"string","pattern":"^/","description":"where"},
          "key":{"type":"string","format":"secret","minLength":9},
          "apps":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}}
        }}
        """

    private static func schema() -> JSONValue {
        var schema = EditorSchema()
        schema.add(library: "X", schema: plugin)
        return schema.json
    }

    /// Every schema with `properties`, wherever it is.
    private static func maps(_ json: JSONValue) -> [JSONValue] {
        switch json {
        case .object(let members):
            (json["properties"] == nil ? [] : [json]) + members.flatMap { maps($0.value) }
        case .array(let items): items.flatMap(maps)
        default: []
        }
    }

    @Test func `it has every key that the readers know, with its sentence`() {
        let maps = Self.maps(Self.schema())
        for section in ConfigSection.all {
            let names = section.keys.map(\.name)
            let map = maps.first { map in
                guard case .object(let members) = map["properties"] else { return false }
                return members.map(\.key) == names
            }
            #expect(map?["additionalProperties"] == .bool(false), "\(section.heading)")
            for key in section.keys {
                let words = map?["properties"]?[key.name]?["description"]?.string ?? ""
                #expect(words.hasPrefix(key.meaning.prefix { $0 != "[" }), "\(key.name)")
                #expect(!words.contains("]("))
            }
        }
    }

    @Test func `a plugin's config applies to the instances with its library`() {
        let plugins = Self.schema()["properties"]?["plugins"]?["additionalProperties"]
        let choice = plugins?["allOf"]?[0]
        #expect(choice?["if"]?["properties"]?["library"]?["const"] == .string("X"))
        let config = choice?["then"]?["properties"]?["config"]
        #expect(config?["emits"] == nil && config?["family"] == nil)
        #expect(config?["additionalProperties"] == .bool(false))
        #expect(config?["required"]?[0] == .string("path"))
        // A reference may stand for any scalar.
        let path = config?["properties"]?["path"]
        #expect(path?["description"] == .string("where"))
        #expect(path?["anyOf"]?[0]?["pattern"] == .string("^/"))
        #expect(path?["anyOf"]?[1]?["pattern"] == .string(#"\$\{"#))
        #expect(config?["properties"]?["key"]?["anyOf"]?[0]?["format"] == nil)
        let inner = config?["properties"]?["apps"]?["items"]
        #expect(inner?["additionalProperties"] == .bool(false))
    }
}
