import Foundation
import FoundationXML
import SignalboxCore
import Testing

@testable import Signalbox
@testable import SignalboxOffline

@Suite struct RouteGraphTests {
    private let graph = RouteGraph([
        Route(
            name: "replies", sources: ["zendesk"], builder: "zendesk",
            senders: ["ios": "apns", "android": "fcm"]),
        Route(
            name: "all", sources: ["zendesk", "shop"], builder: "texts",
            senders: ["ios": "apns", "web": "fcm", "android": "fcm"]),
    ])

    @Test func `Mermaid gets each node and edge once`() {
        #expect(
            graph.mermaid == """
                flowchart LR
                    n1["zendesk"]
                    n6["shop"]
                    n0(["replies"])
                    n5(["all"])
                    n2["zendesk"]
                    n7["texts"]
                    n3["fcm"]
                    n4["apns"]
                    n1 --> n0
                    n0 --> n2
                    n2 -->|"android"| n3
                    n2 -->|"ios"| n4
                    n1 --> n5
                    n6 --> n5
                    n5 --> n7
                    n7 -->|"android, web"| n3
                    n7 -->|"ios"| n4

                """)
    }

    @Test func `the picture is well-formed, whatever names hold`() throws {
        let odd = RouteGraph([
            Route(
                name: "</text><script>\u{1}", sources: ["a\"b&c"], builder: "'\n",
                senders: ["<ios>": String(repeating: "x", count: 80)])
        ])
        for graph in [graph, odd, RouteGraph([])] {
            let parser = XMLParser(data: Data(graph.svg.utf8))
            #expect(parser.parse(), "\(parser.parserError.map { "\($0)" } ?? "") \(graph.svg)")
            #expect(!graph.svg.contains("<script"))
        }
        #expect(!odd.mermaid.contains("<script") && !odd.mermaid.contains("a\"b"))
        #expect(odd.svg.contains("\(String(repeating: "x", count: 23))…"))
    }

    @Test func `results of tests become XML that parses, whatever words hold`() {
        let failure = RouteTestRun.Failure(place: "<a>&\"", lines: ["]]>", "\u{0}'"])
        let result = RouteTestRun.Result(
            name: "<x> & \"y\"", position: "g.yaml:1:1", failures: [failure], written: [], tookMs: 1
        )
        let parser = XMLParser(data: Data([result].junit.utf8))
        #expect(parser.parse())
        #expect([result].junit.contains("tests=\"1\" failures=\"1\""))
    }
}

@Suite struct PayloadDiffTests {
    private func lines(_ wanted: String, _ found: String, isWhole: Bool = false) throws -> [String]
    {
        PayloadDiff.lines(
            expected: try json(wanted), found: try json(found), isWhole: isWhole)
    }

    private func json(_ text: String) throws -> JSONValue {
        func value(_ any: Any) -> JSONValue {
            switch any {
            case let map as [String: Any]:
                .object(map.sorted { $0.key < $1.key }.map { .init($0.key, value($0.value)) })
            case let list as [Any]: .array(list.map(value))
            case let text as String: .string(text)
            case let number as NSNumber: .integer(number.int64Value)
            default: .null
            }
        }
        return value(
            try JSONSerialization.jsonObject(with: Data(text.utf8), options: [.fragmentsAllowed]))
    }

    @Test func `only what is named is compared, and null stands for a missing member`() throws {
        let found = #"{"aps":{"alert":{"title":"T"},"badge":3},"x":[1,2]}"#
        #expect(try lines(#"{"aps":{"alert":{"title":"T"}}}"#, found) == [])
        #expect(try lines(#"{"aps":{"sound":null}}"#, found) == [])
        #expect(
            try lines(#"{"aps":{"alert":{"title":"U","body":"B"},"badge":null},"x":[1,3]}"#, found)
                == [
                    #"payload.aps.alert.body: expected "B", found nothing"#,
                    #"payload.aps.alert.title: expected "U", found "T""#,
                    "payload.aps.badge: expected nothing, found 3",
                    "payload.x[1]: expected 3, found 2",
                ])
        #expect(try lines(#"{"x":[1]}"#, found) == ["payload.x: expected [1], found [1,2]"])
    }

    @Test func `a golden file is compared as a whole`() throws {
        #expect(
            try lines(#"{"a":1}"#, #"{"a":1,"b":null}"#, isWhole: true) == [
                "payload.b: expected nothing, found null"
            ])
        #expect(
            try lines(#"{"a":null}"#, #"{}"#, isWhole: true) == [
                "payload.a: expected null, found nothing"
            ])
        #expect(try lines(#"{"b":2,"a":1}"#, #"{"a":1,"b":2}"#, isWhole: true) == [])
    }
}
