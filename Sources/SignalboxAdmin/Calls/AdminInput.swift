package import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON

/// What a call of the admin listener takes: the parameters of its query, or the members of its JSON body.
///
/// Each must be known, of its kind and unique. An overlooked one would widen an order: without its user, a cancel order
/// ends all pushes of a route.
package struct AdminInput: Sendable, ExpressibleByDictionaryLiteral {
    /// The kind of a parameter, as shown to people.
    package enum Kind: String, Sendable {
        case text = "a text"
        case name = "a text that is not empty"
        case number = "a whole number from 0 on"
        case count = "a whole number from 1 on"
        case flag = "true or false"
        case ids = "a list of whole numbers, at least one"

        fileprivate func fits(_ value: JSONValue) -> Bool {
            switch (self, value) {
            case (.text, .string), (.flag, .bool): true
            case (.name, .string(let text)): !text.isEmpty
            case (.number, .integer(let number)): number >= 0
            case (.count, .integer(let number)): number >= 1
            case (.ids, .array(let items)):
                !items.isEmpty && items.allSatisfy { ($0.integer ?? -1) >= 0 }
            default: false
            }
        }

        /// A value of a query; one that does not fit stays a text.
        fileprivate func value(of text: String) -> JSONValue {
            switch self {
            case .number, .count: Int64(text).map { .integer($0) } ?? .string(text)
            case .flag: ["true": .bool(true), "false": .bool(false)][text] ?? .string(text)
            case .text, .name, .ids: .string(text)
            }
        }
    }

    private let json: JSONValue

    /// What a client gives; nil is left out.
    package init(dictionaryLiteral values: (String, (any AdminValue)?)...) {
        json = .object(values.compactMap { key, value in value?.given.map { .init(key, $0) } })
    }

    /// Reads a request; throws a `Problem` that names the parameter.
    init(_ request: HTTPServerRequest, of call: AdminCall) throws {
        guard call.method == "GET" || request.query.isEmpty || request.query == call.switch else {
            throw Problem(
                400,
                call.switch.map { "the query may only be ?\($0); nothing was done" }
                    ?? "parameters of a POST belong into its JSON body; nothing was done")
        }
        guard let kinds = call.parameters else {
            json = .object([])
            return
        }
        let members =
            call.method == "GET"
            ? try Self.members(ofQuery: request.query, kinds)
            : try Self.members(ofBody: request.body)
        var seen: Set<String> = []
        for member in members {
            guard let kind = kinds[member.key] else {
                let hint = Suggestion.hint(for: member.key, among: kinds.keys.sorted())
                throw Problem(
                    400, "unknown parameter \"\(Suggestion.shown(member.key))\"\(hint)")
            }
            guard kind.fits(member.value) else {
                throw Problem(400, "\"\(member.key)\" must be \(kind.rawValue)")
            }
            guard seen.insert(member.key).inserted else {
                throw Problem(400, "\"\(member.key)\" is there twice")
            }
        }
        json = .object(members)
    }

    private static func members(ofBody body: [UInt8]) throws -> [JSONValue.Member] {
        guard let json = try? JSONValue.parse(body), case .object(let members) = json else {
            throw Problem(400, "the body must be a JSON object")
        }
        return members
    }

    private static func members(
        ofQuery query: String, _ kinds: [String: Kind]
    ) throws -> [JSONValue.Member] {
        try query.split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let text = PercentEncoding.decode(parts[1]) else {
                throw Problem(400, "\"\(pair)\" is not KEY=VALUE, percent-encoded")
            }
            let key = String(parts[0])
            return .init(key, kinds[key]?.value(of: text) ?? .string(text))
        }
    }

    subscript(_ key: String) -> JSONValue? { json[key] }
    func text(_ key: String) -> String? { json[key]?.string }
    func number(_ key: String) -> UInt64? { json[key]?.integer.map { UInt64(clamping: $0) } }
    func flag(_ key: String) -> Bool { json[key] == .bool(true) }

    /// Whether it gives one of these parameters.
    package func gives(_ keys: [String]) -> Bool { keys.contains { json[$0] != nil } }

    /// These parameters and others.
    func adding(_ other: AdminInput) -> AdminInput { AdminInput(json: json.merging(other.json)) }

    init(json: JSONValue) { self.json = json }

    /// As a JSON body.
    var body: String { json.text }

    /// As the query of a URL.
    var query: String {
        guard case .object(let members) = json else { return "" }
        return members.compactMap { member in
            member.value.scalarText.map { "\(member.key)=\(PercentEncoding.encode($0))" }
        }.joined(separator: "&")
    }
}

/// A value that a client gives to a call; its JSON is nil where it says nothing.
package protocol AdminValue {
    var given: JSONValue? { get }
}

extension String: AdminValue {
    package var given: JSONValue? { .string(self) }
}

extension UInt64: AdminValue {
    package var given: JSONValue? { .integer(Int64(clamping: self)) }
}

extension Bool: AdminValue {
    package var given: JSONValue? { self ? .bool(true) : nil }
}

extension [UInt64]: AdminValue {
    package var given: JSONValue? { isEmpty ? nil : .array(compactMap(\.given)) }
}
