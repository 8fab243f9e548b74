import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost

/// Runs one golden case. Returns what is not as expected; throws for a mistake in the file.
struct GoldenRun {
    /// 2023-11-14T22:13:20Z: the time in every case.
    static let nowUnixMs: UInt64 = 1_700_000_000_000

    let test: GoldenCase
    private var send: SendRig?
    var role: RoleRig?
    var defaults: [String: JSONValue] = [:]
    var faults: [String] = []
    /// The last event that was received, or the last body that came to none.
    var event = Event(type: "")
    /// The app whose devices were registered last.
    var app = ""

    static func faults(of test: GoldenCase) async throws -> [String] {
        var run = GoldenRun(test: test)
        try await run.all()
        return run.faults.map { "\(test.testDescription): \($0)" }
    }

    private init(test: GoldenCase) { self.test = test }

    private mutating func all() async throws {
        let place = test.testDescription
        for member in test.shared { defaults[member.key] = member.value }
        var fields = try GoldenFields(.object(test.own), place)
        for key in ["config", "device"] {
            guard let own = fields.take(key) else { continue }
            defaults[key] = (defaults[key] ?? .object([])).merging(own)
        }
        // Cargo builds its library unless that exists.
        if test.plugin == "CloudEvents" { try await RustRig.plugins() }
        if let own = fields.take("call_answer") { defaults["call_answer"] = own }
        let services = try services(place)
        services.devices =
            try fields.list("known")?.map { try GoldenValues.device($0, place) } ?? []
        let config = (defaults["config"] ?? .object([])).text
        if let words = fields.take("refused") {
            try fields.end()
            return try await refuse(config, words, services)
        }
        let origins = try fields.map("origins")
        let calls = fields.take("calls")
        let shortened = try fields.list("shortened") ?? []
        let counts = try fields.map("counts")
        let logs = try fields.map("logs")
        var steps = [JSONValue.object(fields.left)]
        if let listed = try fields.list("steps") {
            try fields.end()
            steps = listed
        }
        guard !steps.isEmpty else { throw GoldenFault("\(place): steps is empty") }
        if steps.contains(where: { step in GoldenCase.roleSteps.contains { step[$0] != nil } }) {
            role = try await RoleRig(test.plugin, config: config, services: services)
        } else {
            send = try await SendRig(test.plugin, config: config, services: services)
        }
        if let origins { try await compare(origins: origins) }
        for (index, step) in steps.enumerated() {
            let at = steps.count == 1 ? "" : "step \(index + 1): "
            try await run(try GoldenFields(step, "\(place): \(at)"), at)
        }
        compare(
            .array(services.shortenedFields.map { .string($0) }), .array(shortened), "shortened")
        if let calls { try compare(calls, services.calls) }
        for count in counts?.left ?? [] {
            compare(.integer(services.counts[count.key] ?? 0), count.value, count.key)
        }
        if let logs { try compare(logs, services.lines) }
        await send?.end()
        faults += await role?.end() ?? []
    }

    private func services(_ place: String) throws -> RigServices {
        guard let value = defaults["call_answer"] else {
            return RigServices(nowUnixMs: Self.nowUnixMs)
        }
        var list = [value]
        if case .array(let items) = value { list = items }
        let answers = try list.map { try Self.answer($0, "\(place): call_answer") }
        return RigServices(nowUnixMs: Self.nowUnixMs) { call in
            answers.first { $0.url.isEmpty || call.url.contains($0.url) }?.result
                ?? .success(PluginHTTPAnswer(status: 404))
        }
    }

    /// The answer to calls whose URL contains these words.
    private static func answer(_ value: JSONValue, _ place: String) throws
        -> (url: String, result: Result<PluginHTTPAnswer, PluginFault>)
    {
        var fields = try GoldenFields(value, place)
        let url = try fields.text("url") ?? ""
        let kind = try fields.text("fault")
        let status = UInt32(try fields.integer("status") ?? 200)
        let body = fields.take("body").map { $0.string ?? $0.text } ?? ""
        try fields.end()
        if let kind {
            let kinds = [PluginFault.Kind.unreachable, .tooLarge]
            guard let known = kinds.first(where: { "\($0)" == kind }) else {
                throw GoldenFault("\(place): fault \(kind)")
            }
            return (url, .failure(PluginFault(known, "no answer")))
        }
        return (url, .success(PluginHTTPAnswer(status: status, body: Array(body.utf8))))
    }

    private mutating func refuse(
        _ config: String, _ words: JSONValue, _ services: RigServices
    ) async throws {
        var fields = try GoldenFields(
            words.string.map { ["has": .string($0)] } ?? words,
            "\(test.testDescription): refused")
        let has = try fields.text("has") ?? ""
        let lacks = try fields.text("lacks")
        try fields.end()
        if has.isEmpty { throw GoldenFault("\(fields.place) is empty") }
        do {
            let made = try await PluginRig.bundledInstance(
                test.plugin, config: config, services: services)
            _ = await made.stop(deadlineMs: 5_000)
            faults.append("the config is accepted, expected: \(has)")
        } catch {
            let text = "\(error)"
            if !text.contains(has) { faults.append("refused: \(text), expected: \(has)") }
            if let lacks, text.contains(lacks) { faults.append("the fault shows \(lacks)") }
        }
    }

    /// Where the plugin sends each app's pushes; null: nowhere.
    private mutating func compare(origins: GoldenFields) async throws {
        guard let send else { throw GoldenFault("\(origins.place): it sends nothing") }
        for app in origins.left {
            let origin = try? await send.role.endpoint(app: app.key).origin
            compare(origin.map { .string($0) } ?? .null, app.value, "origin of \"\(app.key)\"")
        }
    }

    mutating func compare(
        _ value: JSONValue?, _ expected: JSONValue, partly: Bool = false, _ place: String
    ) {
        faults += GoldenValues.differences(value, expected, partly: partly).map { "\(place)\($0)" }
    }

    private mutating func compare(_ expected: JSONValue, _ calls: [PluginHTTPCall]) throws {
        if expected.integer != nil {
            return compare(.integer(Int64(calls.count)), expected, "calls")
        }
        let made = calls.map { call in
            JSONValue.object([
                .init("method", .string(call.method)), .init("url", .string(call.url)),
                .init("headers", GoldenValues.json(call.headers)),
                .init("body", GoldenValues.parsed(String(decoding: call.body, as: UTF8.self))),
            ])
        }
        if case .array(let items) = expected, items.contains(.object([])) {
            throw GoldenFault("\(test): a call is empty")
        }
        compare(.array(made), expected, partly: true, "calls")
    }

    /// Words of the log, and words that it must not have.
    private mutating func compare(_ expected: GoldenFields, _ lines: [String]) throws {
        var expected = expected
        for (key, isThere) in [("has", true), ("lacks", false)] {
            for words in try expected.list(key) ?? [] {
                let found = lines.contains { $0.contains(words.string ?? words.text) }
                if found != isThere { faults.append("logs \(key): \(words.text)") }
            }
        }
        try expected.end()
    }

    // MARK: Steps

    private mutating func run(_ step: GoldenFields, _ at: String) async throws {
        var step = step
        if let note = step.take("send") {
            try await offer(note, &step, at)
        } else if let answer = try step.map("answer") {
            if role == nil {
                try classify(answer, &step, at)
            } else {
                try settle(answer, &step, at)
            }
        } else if let bodies = try step.list("hostile") {
            try await hostile(bodies, &step, at)
        } else if let request = step.take("receive") {
            try await receive(request, &step, at)
        } else if let expected = try step.map("paths") {
            try paths(expected, at)
        } else if let question = step.take("build") {
            try build(question, &step, at)
        } else if let changes = try step.list("register") {
            try await register(changes, &step, at)
        } else {
            throw GoldenFault(
                "\(step.place)needs send, answer, receive, build, register or refused")
        }
        try step.end()
    }

    private mutating func offer(
        _ note: JSONValue, _ step: inout GoldenFields, _ at: String
    ) async throws {
        let content = try GoldenValues.notification(note, step.place)
        let merged = (defaults["device"] ?? .object([])).merging(step.take("device") ?? .object([]))
        let left = try step.integer("deadline_ms").map { Int64(Self.nowUnixMs) + $0 } ?? 0
        let badge = try step.integer("badge").map { Int32($0) }
        let device = try GoldenValues.device(merged, step.place)
        var delivery = SendRig.delivery(
            9, badge: badge, deadlineUnixMs: UInt64(left),
            SharedNotification(content, receivedUnixMs: Self.nowUnixMs))
        delivery.device = device
        let app = try step.text("app") ?? ""
        guard let send else { throw GoldenFault("\(step.place)send and receive in one case") }
        let (requests, settled) = try await send.prepare(app: app, [delivery])
        if let expected = try step.map("request") {
            guard let request = requests.first else {
                return faults.append("\(at)no request: \(settled.map(\.reason))")
            }
            try compare(request, expected, at)
        } else if let expected = try step.map("outcome") {
            guard let outcome = settled.first, requests.isEmpty else {
                return faults.append("\(at)a request was made")
            }
            try compare(outcome, expected, status: 0, token: device.token, at)
        } else {
            throw GoldenFault("\(step.place)send needs request or outcome")
        }
    }

    private mutating func compare(
        _ request: RenderedRequest, _ expected: GoldenFields, _ at: String
    ) throws {
        var expected = expected
        if request.items != [9] { faults.append("\(at)it is a request for \(request.items)") }
        if let method = try expected.text("method"), method != request.method {
            faults.append("\(at)method: is \(request.method), expected \(method)")
        }
        if let path = try expected.text("path"), path != request.path {
            faults.append("\(at)path: is \(request.path), expected \(path)")
        }
        for header in try expected.map("headers")?.left ?? [] {
            let value = request.headers[header.key.lowercased()]
            if value != header.value.scalarText, value != nil || header.value != .null {
                let wanted = header.value.scalarText ?? ""
                faults.append("\(at)\(header.key): is \(value ?? "missing"), expected \(wanted)")
            }
        }
        if let names = try expected.list("unindexed") {
            compare(
                .array(request.unindexed.sorted().map { .string($0) }), .array(names),
                "\(at)unindexed")
        }
        if let body = expected.take("body") {
            // Text is compared byte for byte.
            compare(body.string == nil ? request.body : .string(request.text), body, "\(at)body")
        }
        for member in try expected.map("has")?.left ?? [] {
            let value = GoldenValues.value(request.body, at: member.key)
            compare(value, member.value, "\(at)\(member.key)")
        }
        for pointer in try expected.list("lacks") ?? [] {
            let value = GoldenValues.value(request.body, at: pointer.string ?? "")
            if let value { faults.append("\(at)\(pointer.text): is \(value.text)") }
        }
        try expected.end()
    }

    private mutating func classify(
        _ answer: GoldenFields, _ step: inout GoldenFields, _ at: String
    ) throws {
        var answer = answer
        let status = UInt32(try answer.integer("status") ?? 0)
        let body = answer.take("body").map { $0.string ?? $0.text } ?? ""
        let response = HTTPResponse(
            status: status, headers: try answer.attributes("headers"), body: Array(body.utf8),
            items: [9], context: Array((try answer.text("context") ?? "").utf8))
        try answer.end()
        guard let send, let expected = try step.map("outcome") else {
            throw GoldenFault("\(step.place)answer needs outcome")
        }
        guard let outcome = send.role.classify(app: "", responses: [response]).0.first,
            outcome.item == 9
        else { return faults.append("\(at)no outcome") }
        try compare(outcome, expected, status: status, token: "0a1b", at)
    }

    mutating func compare(
        _ outcome: Outcome, _ expected: GoldenFields, status: UInt32, token: String, _ at: String
    ) throws {
        var expected = expected
        if let detail = try expected.text("detail"),
            detail.isEmpty ? !outcome.detail.isEmpty : !outcome.detail.contains(detail)
        {
            faults.append("\(at)detail: is \(outcome.detail), expected \(detail)")
        }
        if !token.isEmpty, outcome.detail.contains(token) {
            faults.append("\(at)the detail shows the token")
        }
        guard expected.left.contains(where: { $0.key == "kind" }) else {
            throw GoldenFault("\(expected.place) has no kind")
        }
        let actual = GoldenValues.json(outcome, status: status)
        let wanted = JSONValue.object(expected.left)
        let found = GoldenValues.differences(actual, wanted)
        if !found.isEmpty {
            faults.append("\(at)outcome: is \(actual.text), expected \(wanted.text)")
        }
    }
}
