internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON

/// The body of a change on the admin listener: a JSON object.
///
/// Every member must be known, of its kind and unique. An overlooked one would widen an order: without its user, a
/// cancel order ends all pushes of a route.
package struct AdminBody: Sendable {
    /// The kind of a member, as shown to people.
    enum Kind: String, Sendable {
        case text = "a text"
        case name = "a text that is not empty"
        case number = "a whole number from 0 on, without quotes"
        case flag = "true or false"
        case ids = "a list of whole numbers, at least one"

        fileprivate func fits(_ value: JSONValue) -> Bool {
            switch (self, value) {
            case (.text, .string), (.flag, .bool): true
            case (.name, .string(let text)): !text.isEmpty
            case (.number, .integer(let number)): number >= 0
            case (.ids, .array(let items)):
                !items.isEmpty && items.allSatisfy { ($0.integer ?? -1) >= 0 }
            default: false
            }
        }
    }

    /// An invalid body, and why.
    struct Fault: Error {
        let words: String
    }

    private let json: JSONValue

    init(_ body: [UInt8], _ kinds: [String: Kind]) throws(Fault) {
        guard let json = try? JSONValue.parse(body), case .object(let members) = json else {
            throw Fault(words: "the body must be a JSON object")
        }
        var seen: Set<String> = []
        for member in members {
            guard let kind = kinds[member.key] else {
                let hint = Suggestion.hint(for: member.key, among: kinds.keys.sorted())
                throw Fault(words: "unknown member \"\(member.key)\"\(hint)")
            }
            guard kind.fits(member.value) else {
                throw Fault(words: "\"\(member.key)\" must be \(kind.rawValue)")
            }
            guard seen.insert(member.key).inserted else {
                throw Fault(words: "\"\(member.key)\" is there twice")
            }
        }
        self.json = json
    }

    func text(_ key: String) -> String? { json[key]?.string }
    func number(_ key: String) -> UInt64? { json[key]?.integer.map { UInt64(clamping: $0) } }
    func flag(_ key: String) -> Bool { json[key] == .bool(true) }

    func ids(_ key: String) -> [UInt64] {
        guard case .array(let items) = json[key] else { return [] }
        return items.compactMap { $0.integer.map { UInt64(clamping: $0) } }
    }

    /// Runs code that reads a body and uses the store, and answers for their faults.
    static func answer(
        _ body: () async throws -> HTTPServerAnswer
    ) async -> HTTPServerAnswer {
        do {
            return try await body()
        } catch let fault as Fault {
            return Problem(400, fault.words).answer
        } catch {
            return Problem.busy("\(error)")
        }
    }
}
