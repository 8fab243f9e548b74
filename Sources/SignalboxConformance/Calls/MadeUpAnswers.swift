internal import SignalboxCore

/// An answer of a provider.
struct MadeUpAnswer: Sendable {
    var name: String
    var status: UInt32
    var headers: [Attribute]
    /// `{token}` is replaced with the token of the first item.
    var body: [UInt8]
    var echoes = false

    func response(to items: [UInt64]) -> HTTPResponse {
        var bytes = body
        if echoes, let item = items.first {
            let token = Marks.token(Int(item), pattern: nil)
            let text = String(decoding: body, as: UTF8.self)
            let parts = text.split(separator: "{token}", omittingEmptySubsequences: false)
            bytes = Array(parts.joined(separator: token).utf8)
        }
        return HTTPResponse(status: status, headers: headers, body: bytes, items: items)
    }
}

/// Answers as given by providers, proxies and attackers.
enum MadeUpAnswers {
    private static let statuses: [UInt32] = [
        200, 201, 204, 301, 400, 401, 403, 404, 408, 410, 413, 418, 429, 500, 502, 503, 504, 599,
    ]

    static func all(isLight: Bool) -> [MadeUpAnswer] {
        let bodies = bodies(isLight: isLight)
        var out: [MadeUpAnswer] = []
        for status in isLight ? [200, 410, 429] : statuses {
            for body in bodies {
                out.append(
                    MadeUpAnswer(
                        name: "\(status) with \(body.name)", status: status,
                        headers: [
                            Attribute("content-type", "application/json"),
                            Attribute("x-reason", Marks.needle + Marks.digits(1)),
                        ], body: body.bytes, echoes: body.echoes))
            }
        }
        for status: UInt32 in [429, 503] {
            for wait in [
                "7", "0", "-1", "99999999999999999999", "soon", "", "Wed, 21 Oct 2099 07:28:00 GMT",
                "1.5",
            ] {
                out.append(
                    MadeUpAnswer(
                        name: "\(status) with retry-after \"\(wait)\"", status: status,
                        headers: [Attribute("retry-after", wait)], body: Array("{}".utf8)))
            }
        }
        return out
    }

    private static func bodies(isLight: Bool) -> [(name: String, bytes: [UInt8], echoes: Bool)] {
        func object(_ word: String) -> [UInt8] {
            Array(
                """
                {"reason":"\(word)","message":"\(word)","code":"\(word)","msg":"\(word)",
                "error":{"code":400,"status":"\(word)","message":"\(word)","errorCode":"\(word)",
                "details":[{"errorCode":"\(word)","field":"\(word)",
                "fieldViolations":[{"field":"\(word)","description":"\(word)"}]}]},
                "errors":[{"code":"\(word)","message":"\(word)"}],"results":[{"error":"\(word)"}]}
                """.utf8)
        }
        let needle = Marks.needle + Marks.digits(2)
        var out: [(String, [UInt8], Bool)] = [
            ("no body", [], false), ("an empty object", Array("{}".utf8), false),
            ("words of its own", object(needle), false),
            ("the token", object("{token}"), true),
            ("a page", Array("<html><body>\(needle)</body></html>".utf8), false),
            ("bytes that are no UTF-8", [0xFF, 0xFE, 0x00, 0x7B, 0x22], false),
            ("half an object", Array("{\"reason\":\"\(needle)".utf8), false),
            ("a list", Array("[{\"reason\":7}]".utf8), false),
            (
                "wrong types",
                Array("{\"reason\":{},\"error\":[],\"timestamp\":\"x\",\"name\":7}".utf8), false
            ),
            (
                "huge numbers",
                Array("{\"timestamp\":99999999999999999999,\"error\":{\"code\":-1}}".utf8), false
            ),
            ("deep lists", [UInt8](repeating: 0x5B, count: 2_000), false),
        ]
        if !isLight {
            out.append(("a mebibyte", [UInt8](repeating: 0x78, count: 1 << 20), false))
            let text = [UInt8](repeating: 0x79, count: 1 << 20)
            out.append(
                ("a mebibyte of text", Array("{\"reason\":\"".utf8) + text + [0x22, 0x7D], false))
        }
        return out
    }
}
