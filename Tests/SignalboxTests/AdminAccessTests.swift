import SignalboxConfig
import SignalboxCore
import SignalboxHTTP
import Testing

@testable import SignalboxAdmin

/// Who may use the admin listener.
@Suite struct AdminAccessTests {
    private static let local = "127.0.0.1:8081"

    private static func status(
        _ access: AdminAccess, _ method: String = "GET", _ path: String = "/dead",
        isGuarded: Bool = false, headers: KeyValuePairs<String, String>
    ) -> Int {
        let request = HTTPServerRequest(
            method: method, path: path, headers: headers.map { Attribute($0.key, $0.value) })
        return access.refusal(request, isGuarded: isGuarded)?.status ?? 200
    }

    private static func access(
        _ address: String = local, names: [String] = [], token: String? = nil
    ) throws -> AdminAccess {
        AdminAccess(try #require(ListenAddress(address)), names: names, token: token)
    }

    @Test func `a host that is not its own is refused`() throws {
        let access = try Self.access(names: ["Signalbox.internal", "10.0.0.5", "fd00::5"])
        for host in [
            "localhost", "LOCALHOST:8081", "127.0.0.1", "127.0.0.1:8081", "[::1]", "[::1]:8081",
            "signalbox.internal", "signalbox.INTERNAL:8081", "10.0.0.5:8081", "[FD00::5]:8081",
        ] { #expect(Self.status(access, headers: ["host": host]) == 200, "\(host)") }
        for host in [
            "evil.example", "evil.example:8081", "localhost.evil.example", "localhost:1.evil", "",
            "10.0.0.6", "127.0.0.1.evil.example:8081", "[::2]:8081", "x@localhost",
        ] {
            for path in ["/dead", "/metrics", "/healthz"] {
                #expect(Self.status(access, "GET", path, headers: ["host": host]) == 421, "\(host)")
            }
        }
        // A listener for all addresses knows each of them, and no name.
        let wide = try Self.access("0.0.0.0:8081")
        #expect(Self.status(wide, headers: ["host": "10.1.2.3:8081"]) == 200)
        #expect(Self.status(wide, headers: ["host": "[fe80::1]"]) == 200)
        #expect(Self.status(wide, headers: ["host": "evil.example"]) == 421)
    }

    @Test func `a page of another origin is refused`() throws {
        let access = try Self.access()
        for origin in [
            "https://evil.example", "null", "http://localhost:3000", "http://localhost.",
        ] {
            for method in ["GET", "POST"] {
                let status = Self.status(
                    access, method,
                    headers: [
                        "host": "localhost:1", "origin": origin, "content-type": "application/json",
                    ])
                #expect(status == 403, "\(origin)")
            }
        }
        // A page of another site may load nothing either; a link to this page is fine.
        for (site, mode, status) in [
            ("cross-site", "no-cors", 403), ("same-site", "cors", 403),
            ("same-origin", "cors", 200), ("none", "navigate", 200),
            ("cross-site", "navigate", 200),
        ] {
            let found = Self.status(
                access,
                headers: ["host": "localhost:1", "sec-fetch-site": site, "sec-fetch-mode": mode])
            #expect(found == status, "\(site) \(mode)")
        }
    }

    /// No form can send JSON.
    @Test(arguments: [
        ("text/plain", 415), ("application/x-www-form-urlencoded", 415), ("", 415),
        ("text/plain; application/json", 415), ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
    ])
    func `a change must be sent as JSON`(type: String, status: Int) throws {
        let headers: KeyValuePairs = ["host": "localhost", "content-type": type]
        #expect(Self.status(try Self.access(), "POST", isGuarded: true, headers: headers) == status)
    }

    @Test(arguments: [("origin", "http://localhost:1"), ("sec-fetch-site", "same-origin")])
    func `a browser changes nothing unless a token is configured`(
        field: String, value: String
    ) throws {
        let open = try Self.access()
        let json = "application/json"
        let browser: KeyValuePairs = ["host": "localhost:1", "content-type": json, field: value]
        #expect(Self.status(open, "POST", isGuarded: true, headers: browser) == 403)
        #expect(Self.status(open, "POST", headers: browser) == 200)
        let tool: KeyValuePairs = ["host": "localhost:1", "content-type": json]
        #expect(Self.status(open, "POST", isGuarded: true, headers: tool) == 200)
        let closed = try Self.access(token: "token-of-operators")
        for (token, status) in [("x", 401), ("token-of-operators", 200)] {
            let found = Self.status(
                closed, "POST", isGuarded: true,
                headers: [
                    "host": "localhost:1", "content-type": json, field: value,
                    "authorization": "Bearer \(token)",
                ])
            #expect(found == status)
        }
    }
}
