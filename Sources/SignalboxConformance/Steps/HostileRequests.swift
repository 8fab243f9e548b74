internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxPluginHost

/// Requests from broken senders and attackers.
enum HostileRequests {
    /// The project's list, and bodies whose parts must not turn up in logs and errors.
    static func bodies(isLight: Bool) -> [(String, [UInt8])] {
        let marked = Marks.body + Marks.digits(1)
        let own: [(String, [UInt8])] = [
            ("text that is confidential", Array(marked.utf8)),
            ("a key that is confidential", Array("{\"\(marked)\":1}".utf8)),
            (
                "confidential values of the wrong types",
                Array(
                    "{\"devices\":\"\(marked)\",\"notification\":[\"\(marked)\"],\"type\":{\"\(marked)\":0}}"
                        .utf8)
            ),
        ]
        let all = HostileBodies.all.map { ($0.name, $0.bytes) } + own
        return isLight ? all.filter { $0.1.count < 4 * 1024 } : all
    }

    /// The request with one odd part.
    static func odd(_ request: IngestRequest) -> [(String, IngestRequest)] {
        func changed(_ change: (inout IngestRequest) -> Void) -> IngestRequest {
            var copy = request
            copy.body = Array("{}".utf8)
            change(&copy)
            return copy
        }
        let long = String(repeating: "a", count: 8_000)
        return [
            ("a query of odd characters", changed { $0.query = "a=%00%ff%zz&&=&%&\u{e9}=[]" }),
            ("a long query", changed { $0.query = long }),
            ("no headers", changed { $0.headers = [] }),
            (
                "an odd authorization",
                changed { $0.headers = [Attribute("authorization", "Basic =:=\u{e9}")] }
            ),
            (
                "a long authorization",
                changed { $0.headers = [Attribute("authorization", "Bearer " + long)] }
            ),
            (
                "parameters of the path that are empty",
                changed { $0.params = $0.params.map { Attribute($0.key, "") } }
            ),
            (
                "parameters of the path that are odd",
                changed { $0.params = $0.params.map { Attribute($0.key, "../..\u{0}%2f\u{e9}") } }
            ),
            (
                "no parameters of the path",
                changed { $0.params = [] }
            ),
        ]
    }

    /// Requests of the largest size that the gateway lets through.
    static func huge(_ request: IngestRequest, bytes: Int) -> [(String, IngestRequest)] {
        func with(_ body: [UInt8], _ headers: [Attribute] = []) -> IngestRequest {
            var copy = request
            copy.body = body
            copy.headers += headers
            return copy
        }
        let filler = Array("{\"a\":\"".utf8) + [UInt8](repeating: 0x61, count: max(0, bytes - 8))
        let items = [UInt8]((0..<bytes / 5).flatMap { _ in Array("[{}],".utf8) }.dropLast())
        return [
            ("a text of \(bytes) bytes", with(filler + Array("\"}".utf8))),
            ("a list of \(bytes) bytes", with([0x5B] + items.prefix(bytes - 2) + [0x5D])),
            (
                "100 headers of 4 KiB",
                with(
                    Array("{}".utf8),
                    (0..<100).map {
                        Attribute("x-header-\($0)", String(repeating: "v", count: 4_000))
                    })
            ),
        ]
    }

    /// The body cut short, or with some of its members replaced.
    static func broken(_ body: [UInt8], isLight: Bool) -> [(String, [UInt8])] {
        var out: [(String, [UInt8])] = []
        let cuts = min(body.count, isLight ? 3 : 12)
        for cut in 0..<cuts {
            let length = body.count * cut / max(1, cuts)
            out.append(("its first \(length) bytes alone", Array(body.prefix(length))))
        }
        guard let json = try? JSONValue.parse(body) else { return out }
        let values = HostileBodies.values.compactMap { try? JSONValue.parse($0) }
        for (path, replaced) in replacements(json, isLight ? Array(values.prefix(3)) : values) {
            out.append(("another value of \(path)", Array(replaced.text.utf8)))
            if out.count > 400 { break }
        }
        return out
    }

    /// The value with each member, two levels deep, left out or replaced by each of `values`.
    private static func replacements(
        _ json: JSONValue, _ values: [JSONValue], depth: Int = 0
    ) -> [(String, JSONValue)] {
        guard depth < 3 else { return [] }
        var out: [(String, JSONValue)] = []
        switch json {
        case .object(let members):
            for (index, member) in members.enumerated() {
                func with(_ value: JSONValue?) -> JSONValue {
                    var copy = members
                    if let value { copy[index].value = value } else { copy.remove(at: index) }
                    return .object(copy)
                }
                out.append((member.key, with(nil)))
                for value in values { out.append((member.key, with(value))) }
                for (path, inner) in replacements(member.value, values, depth: depth + 1) {
                    out.append(("\(member.key)/\(path)", with(inner)))
                }
            }
        case .array(let items):
            guard let first = items.first else { return [] }
            for (path, inner) in replacements(first, values, depth: depth + 1) {
                out.append(("0/\(path)", .array([inner] + items.dropFirst())))
            }
        default: break
        }
        return out
    }
}
