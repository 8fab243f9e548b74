import SignalboxCore
import Testing

@testable import Signalbox
@testable import SignalboxGateway

@Suite struct PathTableTests {
    private func table(_ patterns: String...) -> PathTable<String> {
        var table = PathTable<String>()
        for pattern in patterns {
            let taken = table.add(pattern: pattern, methods: ["POST"], owner: pattern)
            #expect(taken == nil)
        }
        return table
    }

    /// `owner name=value`, the allowed methods, or nothing.
    private func find(_ path: String, _ method: String = "POST", in table: PathTable<String>)
        -> String
    {
        switch table.find(method: method, path: path) {
        case .match(let match):
            ([match.owner] + match.params.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
        case .wrongMethod(let allowed): "allowed: \(allowed.joined(separator: ","))"
        case .none: ""
        }
    }

    @Test func `an exact path wins over a pattern, whichever came first`() {
        let table = table("/in/{x}", "/in/zendesk")
        #expect(find("/in/zendesk", in: table) == "/in/zendesk")
        #expect(find("/in/other", in: table) == "/in/{x} x=other")
    }

    @Test(arguments: [
        ("/a/1/b/2", "/a/{one}/b/{two} one=1 two=2"), ("/a/1/b", ""), ("/a/1/b/2/", ""),
        ("/a//b/2", ""), ("a/1/b/2", ""), ("", ""),
        ("/a/x%2Fy/b/%C3%A4", "/a/{one}/b/{two} one=x/y two=ä"),
        ("/a/%zz/b/2", ""), ("/a/%2/b/2", ""), ("/a/%/b/2", ""), ("/a/%+1/b/2", ""),
        ("/a/%-0/b/2", ""), ("/a/%FF/b/2", ""),
        ("/a/{one}/b/2", "/a/{one}/b/{two} one={one} two=2"),
    ])
    func `a segment in braces takes one segment, decoded`(path: String, found: String) {
        #expect(find(path, in: table("/a/{one}/b/{two}")) == found)
    }

    @Test func `another method is told which are allowed`() {
        #expect(find("/in/x", "GET", in: table("/in/{x}")) == "allowed: POST")
        #expect(find("/in", "PUT", in: table("/in")) == "allowed: POST")
    }

    @Test func `a path that another one shadows is known with the one that gets its requests`() {
        var table = table("/in/{x}", "/in/a", "/b/{x}/{y}", "/b/c/{z}", "/other/{x}")
        let shadows = table.shadows.map { "\($0.place.pattern) < \($0.by.pattern)" }
        #expect(shadows == ["/in/{x} < /in/a", "/b/c/{z} < /b/{x}/{y}"])
        let taken = table.add(pattern: "/b/{one}/{two}", methods: ["POST"], owner: "second")
        #expect(taken == "/b/{x}/{y}")
    }

    @Test func `a pattern that is taken is refused and its owner stays`() {
        var table = table("/in/{x}", "/in")
        for pattern in ["/in/{x}", "/in/{other}", "/in"] {
            let taken = table.add(pattern: pattern, methods: ["GET"], owner: "second")
            #expect(taken != nil)
        }
        #expect(find("/in", in: table) == "/in")
        #expect(find("/in/1", in: table) == "/in/{x} x=1")
    }

    @Test func `a brace that does not close is text`() {
        #expect(find("/in/{x", in: table("/in/{x")) == "/in/{x")
    }
}
