import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost

/// The steps that receive requests.
extension GoldenRun {
    var rig: RoleRig {
        get throws {
            guard let role else { throw GoldenFault("\(test): send and receive in one case") }
            return role
        }
    }

    mutating func receive(
        _ request: JSONValue, _ step: inout GoldenFields, _ at: String
    ) async throws {
        let result = try await handle(request, step.place)
        let before = step.left.count
        if let reply = try step.map("reply") { try compare(result.answer, reply, at) }
        if var fault = try step.map("fault") {
            let message = result.fault?.message ?? ""
            for (key, isThere) in [("has", true), ("lacks", false)] {
                guard let words = try fault.text(key) else { continue }
                if message.contains(words) != isThere {
                    faults.append("\(at)fault: is \(message), \(key) \(words)")
                }
            }
            let made: JSONValue = [
                "kind": .string(result.fault.map { "\($0.kind)" } ?? "none"),
                "message": .string(message),
            ]
            compare(made, .object(fault.left), partly: true, "\(at)fault")
        } else if let fault = result.fault {
            faults.append("\(at)fault: \(fault)")
        }
        try compare(result, &step, at)
        if let built = try step.list("built") {
            let made = try result.events.flatMap { try rig.build($0, $0.recipients).contents }
            try compare(made, built, at)
        }
        if step.left.count == before { throw GoldenFault("\(step.place)receive expects nothing") }
        event = result.events.last ?? event
    }

    /// Sends a request to the path of the plugin that fits.
    private mutating func handle(_ request: JSONValue, _ place: String) async throws -> IngestResult
    {
        let merged = (defaults["receive"] ?? .object([])).merging(request)
        var fields = try GoldenFields(merged, "\(place)receive")
        var body = fields.take("body")
        if let change = request["change"] ?? defaults["receive"]?["change"] {
            _ = fields.take("change")
            body = try Self.changed(body, by: change, fields.place)
        }
        let text = body.map { $0.string ?? $0.text } ?? ""
        event = Event(type: "", data: text)
        return try await handle(Array(text.utf8), fields)
    }

    func handle(_ body: [UInt8], _ fields: GoldenFields) async throws -> IngestResult {
        var fields = fields
        let method = try fields.text("method") ?? "POST"
        guard let path = try fields.text("path") else {
            throw GoldenFault("\(fields.place): path is missing")
        }
        var headers = try fields.attributes("headers").map { ($0.key, $0.value) }
        if var sign = try fields.map("sign") {
            headers.append(try Self.signature(&sign, body))
        }
        try fields.end()
        let patterns = try rig.ingest?.paths ?? []
        let found = patterns.lazy.filter { $0.methods.contains(method) }.compactMap { served in
            Self.params(path, served.pattern).map { (served.pattern, $0) }
        }.first
        guard let (pattern, params) = found else {
            throw GoldenFault("\(fields.place): the plugin does not serve \(method) \(path)")
        }
        return try await rig.handle(
            body, path: path, method: method, pattern: pattern, params: params, headers: headers)
    }

    static func changed(
        _ body: JSONValue?, by change: JSONValue, _ place: String
    ) throws -> JSONValue {
        let root = try body?.string.map { try JSONValue.parse($0) } ?? body ?? .object([])
        return try GoldenFields(change, "\(place): change").left.reduce(root) { value, member in
            let path = member.key.split(separator: "/")
            return GoldenValues.changed(value, at: path[...], member.value) ?? .null
        }
    }

    /// `{header: x-hub-signature, prefix: "sha1=", sha1: SECRET}` as a header field.
    private static func signature(
        _ sign: inout GoldenFields, _ body: [UInt8]
    ) throws -> (String, String) {
        let header = try sign.text("header") ?? ""
        let prefix = try sign.text("prefix") ?? ""
        let sha1 = try sign.text("sha1").map { HMACDigest.sha1(key: Array($0.utf8), data: body) }
        let sha256 = try sign.text("sha256").map {
            HMACDigest.sha256(key: Array($0.utf8), data: body)
        }
        try sign.end()
        guard let digest = sha1 ?? sha256 else { throw GoldenFault("\(sign.place): no secret") }
        return (header, prefix + Hex.encode(digest))
    }

    /// The parameters of a path; nil if the pattern does not fit.
    private static func params(_ path: String, _ pattern: String) -> [Attribute]? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        let names = pattern.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == names.count else { return nil }
        var out: [Attribute] = []
        for (part, name) in zip(parts, names) {
            if name.hasPrefix("{") {
                out.append(Attribute(String(name.dropFirst().dropLast()), String(part)))
            } else if part != name {
                return nil
            }
        }
        return out
    }

    private mutating func compare(
        _ result: IngestResult, _ step: inout GoldenFields, _ at: String
    ) throws {
        if let events = try step.list("events") {
            if events.contains(.object([])) { throw GoldenFault("\(step.place)an event is empty") }
            let made = result.events.map { GoldenValues.json($0) }
            compare(.array(made), .array(events), partly: true, "\(at)events")
        }
        let devices = result.events.flatMap(\.recipients).map(\.device)
        for (key, texts) in [("users", devices.map(\.user)), ("tokens", devices.map(\.token))] {
            guard let expected = try step.list(key) else { continue }
            compare(.array(texts.map { .string($0) }), .array(expected), "\(at)\(key)")
        }
        for reject in result.rejects {
            let shown = devices.first { $0.token.count > 1 && reject.detail.contains($0.token) }
            if shown != nil { faults.append("\(at)the detail of \(reject.reason) shows a token") }
        }
        if let rejects = try step.list("rejects") {
            let made = result.rejects.map { reject in
                JSONValue.object([
                    .init("reason", .string(reject.reason)),
                    .init("detail", .string(reject.detail)),
                ])
            }
            compare(made, rejects, word: "reason", "\(at)rejects")
        }
        if let changes = try step.list("changes") {
            let made = result.changes.map { change in
                GoldenValues.json(change.device).merging(
                    ["kind": .string("\(change.kind)")])
            }
            compare(.array(made), .array(changes), partly: true, "\(at)changes")
        }
    }

    /// Compares a list whose expected items may be one member's text alone.
    mutating func compare(
        _ made: [JSONValue], _ expected: [JSONValue], word: String, _ place: String
    ) {
        let wanted = expected.map {
            $0.string == nil ? $0 : JSONValue.object([.init(word, $0)])
        }
        compare(.array(made), .array(wanted), partly: true, place)
    }

    private mutating func compare(
        _ answer: IngestResult.Answer?, _ expected: GoldenFields, _ at: String
    ) throws {
        var expected = expected
        guard let answer else { return faults.append("\(at)there is no reply") }
        if let status = try expected.integer("status"), status != Int64(answer.status) {
            faults.append("\(at)status: is \(answer.status), expected \(status)")
        }
        if let headers = expected.take("headers") {
            compare(GoldenValues.json(answer.headers), headers, partly: true, "\(at)headers")
        }
        let text = String(decoding: answer.body, as: UTF8.self)
        if let body = expected.take("body") {
            compare(
                body.string == nil ? GoldenValues.parsed(text) : .string(text), body, "\(at)reply")
        }
        for member in try expected.map("has")?.left ?? [] {
            let value = GoldenValues.value(GoldenValues.parsed(text), at: member.key)
            compare(value, member.value, "\(at)reply\(member.key)")
        }
        try expected.end()
    }

    /// All paths that the plugin claims, with their methods.
    mutating func paths(_ expected: GoldenFields, _ at: String) throws {
        let made = try rig.ingest?.paths.map { path in
            JSONValue.Member(path.pattern, .array(path.methods.map { .string($0) }))
        }
        compare(.object(made ?? []), .object(expected.left), "\(at)paths")
    }
}
