import SignalboxCore
import SignalboxHTTP
import Testing

@testable import SignalboxAdmin

/// What calls of the admin listener take.
@Suite struct AdminInputTests {
    @Test(arguments: [
        ("", "give one of event, user, subject, device and source_id"),
        ("user=a&subject=b", "give one of event, user, subject, device and source_id"),
        ("event=x", "\"event\" must be a whole number from 0 on"),
        ("user=a&sinc=1", "unknown parameter \"sinc\" (did you mean \"since\"?)"),
        ("user=a&since=x", "\"since\" must be a whole number from 0 on"),
        ("user=a&user=b", "\"user\" is there twice"),
        ("user", "\"user\" is not KEY=VALUE, percent-encoded"),
        ("user=", "\"user\" must be a text that is not empty"),
    ])
    func `a query with a mistake is refused with the reason`(query: String, words: String) throws {
        #expect(throws: Problem(400, words)) {
            _ = try TraceQuery(AdminInput(Self.request("GET", query: query), of: .trace))
        }
    }

    @Test(arguments: [
        ("[]", "the body must be a JSON object"), ("x", "the body must be a JSON object"),
        (#"{"usr":"a"}"#, "unknown parameter \"usr\" (did you mean \"user\"?)"),
        (#"{"user":""}"#, "\"user\" must be a text that is not empty"),
        (#"{"user":null}"#, "\"user\" must be a text that is not empty"),
        (#"{"user":5}"#, "\"user\" must be a text that is not empty"),
        (#"{"event":"1"}"#, "\"event\" must be a whole number from 0 on"),
        (#"{"event":1.5}"#, "\"event\" must be a whole number from 0 on"),
        (#"{"event":-1}"#, "\"event\" must be a whole number from 0 on"),
        (#"{"event":9223372036854775808}"#, "\"event\" must be a whole number from 0 on"),
        (#"{"all":"true"}"#, "\"all\" must be true or false"),
        (#"{"sender":"a","sender":"b"}"#, "\"sender\" is there twice"),
    ])
    func `a body with a mistake is refused with the reason`(body: String, words: String) throws {
        #expect(throws: Problem(400, words)) {
            _ = try AdminInput(Self.request("POST", body: body), of: .cancel)
        }
    }

    @Test func `a query that a POST would overlook is refused`() {
        let words = "parameters of a POST belong into its JSON body; nothing was done"
        for query in ["user=bob", "x", "check"] {
            #expect(throws: Problem(400, words)) {
                _ = try AdminInput(
                    Self.request("POST", query: query, body: #"{"route":"ev"}"#), of: .cancel)
            }
        }
        for query in ["chekc", "check=false", "check&x"] {
            #expect(throws: Problem(400, "the query may only be ?check; nothing was done")) {
                _ = try AdminInput(Self.request("POST", query: query), of: .reload)
            }
        }
        #expect(throws: Never.self) {
            _ = try AdminInput(Self.request("POST", query: "check"), of: .reload)
        }
    }

    @Test func `a limit of nothing is no limit of one`() {
        #expect(throws: Problem(400, "\"limit\" must be a whole number from 1 on")) {
            _ = try AdminInput(Self.request("POST", body: #"{"all":true,"limit":0}"#), of: .purge)
        }
    }

    @Test(arguments: ["\"x\"", "[]", "[1,\"2\"]", "[-1]", "5"])
    func `ids are a list of whole numbers`(ids: String) throws {
        #expect(throws: Problem(400, "\"ids\" must be a list of whole numbers, at least one")) {
            _ = try AdminInput(
                Self.request("POST", body: #"{"all":true,"ids":\#(ids)}"#), of: .purge)
        }
    }

    @Test func `a server reads what a client gives`() throws {
        let query = TraceQuery(.user("Ann & Bob"))
        let read = try TraceQuery(
            AdminInput(Self.request("GET", query: query.input.query), of: .trace))
        #expect(read == query)
        let chosen: AdminInput = [
            "ids": [7, 8] as [UInt64], "sender": nil as String?, "app": "", "all": false,
        ]
        #expect(chosen.body == #"{"ids":[7,8],"app":""}"#)
        let input = try AdminInput(Self.request("POST", body: chosen.body), of: .replay)
        #expect(input["ids"] == [7, 8] && input.text("app")?.isEmpty == true)
    }

    @Test func `the description names each call with its parameters`() {
        let api = AdminAPI.json(of: [.trace, .deadLetter, .logLevel, .setLogLevel, .explain])
        let paths = api["paths"]
        #expect(paths?["/dead/{id}"]?["get"]?["parameters"]?[0]?["in"] == "path")
        #expect(
            Self.list(paths?["/trace"]?["get"]?["parameters"]).compactMap { $0["name"]?.string }
                == ["before", "device", "event", "limit", "since", "source_id", "subject", "user"])
        #expect(paths?["/log-level"]?["get"] != nil)
        let body = paths?["/log-level"]?["post"]?["requestBody"]?["content"]?["application/json"]
        #expect(body?["schema"]?["properties"]?["level"]?["minLength"] == 1)
    }

    private static func request(
        _ method: String, query: String = "", body: String = ""
    ) -> HTTPServerRequest {
        HTTPServerRequest(method: method, path: "/x", query: query, body: Array(body.utf8))
    }

    private static func list(_ json: JSONValue?) -> [JSONValue] {
        if case .array(let items) = json { items } else { [] }
    }
}
