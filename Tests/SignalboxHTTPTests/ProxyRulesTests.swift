import SignalboxHTTP
import Testing

/// Which proxy a connection goes through.
@Suite struct ProxyRulesTests {
    @Test(arguments: [
        ("http://proxy.corp:3128", "http://proxy.corp:3128", nil),
        ("http://proxy.corp:3128/", "http://proxy.corp:3128", nil),
        ("proxy.corp:8080", "http://proxy.corp:8080", nil),
        ("proxy.corp", "http://proxy.corp:1080", nil),
        ("http://[fd00::1]:3128", "http://[fd00::1]:3128", nil),
        ("HTTP://me:se%40cret@10.0.0.1:3128", "http://10.0.0.1:3128", "me:se@cret"),
        ("http://me@proxy:1", "http://proxy:1", "me:"),
    ])
    func `a proxy is read, and shown without its password`(
        text: String, shown: String, credentials: String?
    ) throws {
        let proxy = try ProxyAddress(text)
        #expect("\(proxy)" == shown)
        #expect(proxy.credentials == credentials)
    }

    @Test(arguments: [
        "", "http://", "https://proxy:1", "socks5://proxy:1", "http://proxy:0", "http://proxy:x",
        "http://proxy:1/path", "http://a b:1", "http://u:%0d%0a@proxy:1", "http://u:%4@proxy:1",
        "a:b:1",
    ])
    func `what is no HTTP proxy is refused, without its text`(text: String) {
        let fault = #expect(throws: ProxyAddress.Fault.self) { try ProxyAddress(text) }
        // The advice begins like some of them.
        #expect(fault.map { text.count < 8 || !"\($0)".contains(text) } ?? false)
    }

    @Test(arguments: [
        "localhost", "LOCALHOST", "x.localhost", "127.0.0.1", "127.9.8.7", "::1", "0.0.0.0", "::",
        "::ffff:127.0.0.1",
    ])
    func `this machine never has a proxy`(host: String) throws {
        let rules = ProxyRules(only: try ProxyAddress("http://proxy:1"))
        #expect(rules.proxy(host: host, port: 443, isSecure: true) == nil)
        let all = ProxyRules(variables: [
            "all_proxy": "http://proxy:1", "http_proxy": "http://proxy:1",
        ])
        #expect(all.proxy(host: host, port: 80, isSecure: false) == nil)
    }

    private static let variables: [([String: String], String?, String?)] = [
        (["https_proxy": "http://a:1", "all_proxy": "http://b:2"], "http://a:1", "http://b:2"),
        (["HTTPS_PROXY": "http://a:1"], "http://a:1", nil),
        (["all_proxy": "http://b:2"], "http://b:2", "http://b:2"),
        (["ALL_PROXY": "b:2", "http_proxy": "c:3"], "http://b:2", "http://c:3"),
        // A CGI program's requests decide about this one.
        (["HTTP_PROXY": "http://a:1"], nil, nil),
        (["https_proxy": ""], nil, nil),
        (["https_proxy": "http://a:1", "no_proxy": "*"], nil, nil),
        (["https_proxy": "http://a:1", "NO_PROXY": "x, example.com"], nil, nil),
        (["https_proxy": "http://a:1", "no_proxy": ".example.com"], nil, nil),
        (["https_proxy": "http://a:1", "no_proxy": "push.example.com:443"], nil, nil),
        (
            ["https_proxy": "http://a:1", "no_proxy": "push.example.com:444 ample.com"],
            "http://a:1", nil
        ),
    ]

    @Test(arguments: variables)
    func `the usual variables decide`(
        variables: [String: String], secure: String?, plain: String?
    ) {
        let rules = ProxyRules(variables: variables)
        func proxy(_ port: Int, _ isSecure: Bool) -> String? {
            rules.proxy(host: "push.example.com", port: port, isSecure: isSecure).map { "\($0)" }
        }
        #expect(proxy(443, true) == secure)
        #expect(proxy(80, false) == plain)
        #expect(rules.faults.isEmpty)
    }

    @Test(arguments: [
        ("10.1.2.3", "10.0.0.0/8", false), ("11.1.2.3", "10.0.0.0/8", true),
        ("10.1.2.3", "10.1.2.3", false), ("fd00::5", "fd00::/8", false),
        ("2a00::5", "fd00::/8", true),
        ("fd00::5", "[fd00::5]:443", false), ("name.test", "10.0.0.0/8", true),
    ])
    func `addresses and networks are exceptions, too`(host: String, none: String, isProxied: Bool) {
        let rules = ProxyRules(variables: ["https_proxy": "http://a:1", "no_proxy": none])
        #expect((rules.proxy(host: host, port: 443, isSecure: true) != nil) == isProxied)
    }

    @Test func `a variable that cannot be used is named, without its value`() {
        let rules = ProxyRules(variables: ["all_proxy": "socks5://me:pw@proxy:1"])
        #expect(
            rules.faults == [
                "the variable all_proxy is no usable proxy: only http:// proxies are supported"
            ])
        #expect(rules.proxy(host: "example.com", port: 443, isSecure: true) == nil)
    }

    @Test func `rules are shown without a password`() {
        let rules = ProxyRules(variables: ["https_proxy": "http://me:pw@a:1", "no_proxy": "x.test"])
        #expect("\(rules)" == "http://a:1 (https_proxy), not for x.test")
        #expect("\(ProxyRules.direct)" == "")
    }
}
