import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost

/// The steps that register devices at a provider.
extension GoldenRun {
    mutating func register(
        _ changes: [JSONValue], _ step: inout GoldenFields, _ at: String
    ) async throws {
        let list = try changes.map { try GoldenValues.change($0, step.place) }
        app = list.first?.device.app ?? ""
        if let origin = try step.text("origin") {
            let made = try await rig.register?.endpoint(app: app).origin ?? ""
            compare(.string(made), .string(origin), "\(at)origin")
        }
        let (requests, settled) = try rig.prepare(app: app, list)
        try compare(requests, settled, status: 0, &step, at)
    }

    /// An answer to a request that registers.
    mutating func settle(
        _ answer: GoldenFields, _ step: inout GoldenFields, _ at: String
    ) throws {
        var answer = answer
        let status = UInt32(try answer.integer("status") ?? 0)
        let body = answer.take("body").map { $0.string ?? $0.text } ?? ""
        let headers = try answer.attributes("headers")
        let items = try answer.list("items")?.compactMap { $0.integer.map { UInt64($0) } }
        try answer.end()
        let (settled, requests) = try rig.classify(
            app: app, status, body, items: items ?? [1], headers: headers)
        if let expected = try step.map("outcome") {
            guard settled.count == 1 else {
                return faults.append("\(at)\(settled.count) outcomes")
            }
            return try compare(settled[0], expected, status: status, token: "0a1b", at)
        }
        try compare(requests, settled, status: status, &step, at)
    }

    private mutating func compare(
        _ requests: [WebRequest], _ settled: [Outcome], status: UInt32,
        _ step: inout GoldenFields, _ at: String
    ) throws {
        let before = step.left.count
        if let expected = step.take("requests") {
            let made = requests.map { request in
                JSONValue.object([
                    .init("method", .string(request.method)), .init("path", .string(request.path)),
                    .init(
                        "headers", GoldenValues.json(request.headers.map { Attribute($0, $1) })),
                    .init("body", GoldenValues.parsed(request.text)),
                    .init("items", .array(request.items.map { .integer(Int64($0)) })),
                ])
            }
            if expected.integer != nil {
                compare(.integer(Int64(made.count)), expected, "\(at)requests")
            } else {
                compare(.array(made), expected, partly: true, "\(at)requests")
            }
        }
        if let expected = try step.list("settled") {
            let made = settled.map { GoldenValues.json($0, status: status) }
            compare(made, expected, word: "reason", "\(at)settled")
        }
        if step.left.count == before {
            throw GoldenFault("\(step.place)needs requests, settled or outcome")
        }
    }
}
