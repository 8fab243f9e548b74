import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost

/// Runs one golden case. Returns what is not as expected; throws for a mistake in the file.
struct GoldenRun {
    /// 2023-11-14T22:13:20Z: the time in every case.
    static let nowUnixMs: UInt64 = 1_700_000_000_000

    private let test: GoldenCase
    private var send: SendRig?
    private var role: RoleRig?
    private var defaults: [String: JSONValue] = [:]
    private var faults: [String] = []

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
        if let own = fields.take("call_answer") { defaults["call_answer"] = own }
        let services = try services(place)
        let config = (defaults["config"] ?? .object([])).text
        if let words = fields.take("refused") {
            try fields.end()
            return try await refuse(config, words, services)
        }
        let origins = try fields.map("origins")
        let calls = try fields.list("calls")
        let shortened = try fields.list("shortened") ?? []
        let counts = try fields.map("counts")
        var steps = [JSONValue.object(fields.left)]
        if let listed = try fields.list("steps") {
            try fields.end()
            steps = listed
        }
        guard !steps.isEmpty else { throw GoldenFault("\(place): steps is empty") }
        if steps.contains(where: { $0["receive"] != nil }) {
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
        await send?.end()
        faults += await role?.end() ?? []
    }

    private func services(_ place: String) throws -> RigServices {
        guard let value = defaults["call_answer"] else {
            return RigServices(nowUnixMs: Self.nowUnixMs)
        }
        var fields = try GoldenFields(value, "\(place): call_answer")
        let status = UInt32(try fields.integer("status") ?? 200)
        let body = fields.take("body").map { $0.string ?? $0.text } ?? ""
        try fields.end()
        return RigServices(nowUnixMs: Self.nowUnixMs) { _ in
            .success(PluginHTTPAnswer(status: status, body: Array(body.utf8)))
        }
    }

    private mutating func refuse(
        _ config: String, _ words: JSONValue, _ services: RigServices
    ) async throws {
        var fields = try GoldenFields(
            words.string.map { .object([.init("has", .string($0))]) } ?? words,
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

    private mutating func compare(
        _ value: JSONValue?, _ expected: JSONValue, partly: Bool = false, _ place: String
    ) {
        faults += GoldenValues.differences(value, expected, partly: partly).map { "\(place)\($0)" }
    }

    private mutating func compare(_ expected: [JSONValue], _ calls: [PluginHTTPCall]) throws {
        let made = calls.map { call in
            JSONValue.object([
                .init("method", .string(call.method)), .init("url", .string(call.url)),
                .init("body", .string(String(decoding: call.body, as: UTF8.self))),
            ])
        }
        if expected.contains(.object([])) { throw GoldenFault("\(test): a call is empty") }
        compare(.array(made), .array(expected), partly: true, "calls")
    }

    // MARK: Steps

    private mutating func run(_ step: GoldenFields, _ at: String) async throws {
        var step = step
        if let note = step.take("send") {
            try await offer(note, &step, at)
        } else if let answer = try step.map("answer") {
            try classify(answer, &step, at)
        } else if let request = step.take("receive") {
            try await receive(request, &step, at)
        } else {
            throw GoldenFault("\(step.place)needs send, answer, receive or refused")
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
        var response = HTTPResponse(
            status: status, headers: try answer.attributes("headers"), body: Array(body.utf8),
            items: [9])
        response.context = Array((try answer.text("context") ?? "").utf8)
        try answer.end()
        guard let send, let expected = try step.map("outcome") else {
            throw GoldenFault("\(step.place)answer needs outcome")
        }
        guard let outcome = send.role.classify(app: "", responses: [response]).0.first,
            outcome.item == 9
        else { return faults.append("\(at)no outcome") }
        try compare(outcome, expected, status: status, token: "0a1b", at)
    }

    private mutating func compare(
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

    private mutating func receive(
        _ request: JSONValue, _ step: inout GoldenFields, _ at: String
    ) async throws {
        let merged = (defaults["receive"] ?? .object([])).merging(request)
        var fields = try GoldenFields(merged, "\(step.place)receive")
        let body = fields.take("body").map { $0.string ?? $0.text } ?? ""
        let method = try fields.text("method") ?? "POST"
        guard let path = try fields.text("path") else {
            throw GoldenFault("\(fields.place): path is missing")
        }
        let headers = try fields.attributes("headers").map { ($0.key, $0.value) }
        try fields.end()
        guard let role else { throw GoldenFault("\(step.place)send and receive in one case") }
        let result = await role.handle(body, path: path, method: method, headers: headers)
        let before = step.left.count
        if let reply = try step.map("reply") { try compare(result.answer, reply, at) }
        if let fault = try step.map("fault") {
            let made = JSONValue.object([
                .init("kind", .string(result.fault.map { "\($0.kind)" } ?? "none")),
                .init("message", .string(result.fault?.message ?? "")),
            ])
            compare(made, .object(fault.left), partly: true, "\(at)fault")
        } else if let fault = result.fault {
            faults.append("\(at)fault: \(fault)")
        }
        if let events = try step.list("events") {
            if events.contains(.object([])) { throw GoldenFault("\(step.place)an event is empty") }
            let made = result.events.map { GoldenValues.json($0) }
            compare(.array(made), .array(events), partly: true, "\(at)events")
        }
        if let rejects = try step.list("rejects") {
            let made = result.rejects.map { JSONValue.string($0.reason) }
            compare(.array(made), .array(rejects), "\(at)rejects")
        }
        if let built = try step.list("built") {
            let made = try result.events.flatMap { event in
                try role.build(event, event.recipients).contents.map {
                    GoldenValues.json($0.notification)
                }
            }
            compare(.array(made), .array(built), "\(at)built")
        }
        if step.left.count == before { throw GoldenFault("\(step.place)receive expects nothing") }
    }

    private mutating func compare(
        _ answer: IngestResult.Answer?, _ expected: GoldenFields, _ at: String
    ) throws {
        var expected = expected
        guard let answer else { return faults.append("\(at)there is no reply") }
        if let status = try expected.integer("status"), status != Int64(answer.status) {
            faults.append("\(at)status: is \(answer.status), expected \(status)")
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
}
