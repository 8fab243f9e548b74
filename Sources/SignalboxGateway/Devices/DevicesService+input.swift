internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxObservability

/// What a request to the devices API may say; whatever it does not know is refused.
extension DevicesService {
    /// The user that the request is about: a user's request can only be about that user.
    func user(_ given: String, _ caller: DeviceCaller) throws -> String {
        guard let own = caller.user else {
            guard !given.isEmpty else { throw Problem(400, "\"user\" is required") }
            return given
        }
        guard given.isEmpty || given == own else {
            throw Problem(403, "this token is another user's")
        }
        return own
    }

    /// The body; one that names another app than the caller's is meant for another place.
    func object(_ request: HTTPServerRequest, _ caller: DeviceCaller) throws -> JSONValue {
        guard let json = try? JSONValue.parse(request.body), case .object = json else {
            throw Problem(400, "the body must be a JSON object")
        }
        guard json["app"].map({ $0.string == caller.app }) ?? true else {
            throw Problem(
                403, "\"app\" must be \"\(caller.app)\", which this token is for, or left out")
        }
        return json
    }

    func text(
        _ json: JSONValue, _ key: String, max: Int = 256, required: Bool = true
    ) throws -> String {
        let text = json[key]?.string ?? ""
        guard json[key] == nil || json[key]?.string != nil else {
            throw Problem(400, "\"\(key)\" must be text")
        }
        guard !required || !text.isEmpty else { throw Problem(400, "\"\(key)\" is required") }
        guard text.utf8.count <= max else {
            throw Problem(400, "\"\(key)\" is over \(max) bytes")
        }
        // Tokens have rules of their own.
        guard key == "token" || DeviceRules.isPlain(text) else {
            throw Problem(400, "\"\(key)\" has a control character")
        }
        return text
    }

    /// Routes name it; with a space at its end it would be one that no route has.
    static func isPlatform(_ text: String) -> Bool {
        text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    /// What is misspelt would be missing without a word.
    func checkMembers(of json: JSONValue, known: [String]) throws {
        guard case .object(let members) = json else { return }
        for member in members where !known.contains(member.key) {
            throw Problem(
                400,
                "there is no \"\(Suggestion.shown(member.key))\""
                    + Suggestion.hint(for: member.key, among: known)
                    + "; known: " + known.joined(separator: ", "))
        }
    }

    func flag(_ json: JSONValue, _ key: String, otherwise: Bool) throws -> Bool {
        switch json[key] {
        case nil: return otherwise
        case .bool(let value): return value
        default: throw Problem(400, "\"\(key)\" must be true or false")
        }
    }

    func attributes(_ json: JSONValue) throws -> [Attribute] {
        guard let given = json["attributes"] else { return [] }
        guard case .object(let members) = given, members.count <= DeviceRules.attributesMax else {
            throw Problem(
                400,
                "\"attributes\" must be an object of at most "
                    + "\(DeviceRules.attributesMax) texts")
        }
        return try members.map { member in
            guard let value = member.value.string,
                max(value.utf8.count, member.key.utf8.count) <= DeviceRules.attributeBytesMax
            else {
                throw Problem(
                    400,
                    "each attribute must be text of at most "
                        + "\(DeviceRules.attributeBytesMax) bytes")
            }
            guard DeviceRules.isPlain(member.key), DeviceRules.isPlain(value) else {
                throw Problem(400, "an attribute has a control character")
            }
            return Attribute(member.key, value)
        }
    }

    /// An app that crashes cannot say that it is gone, so what it says holds for a while.
    func presenceSeconds(_ json: JSONValue) throws -> UInt64 {
        guard let ttl = json["ttl"] else { return UInt64(DeviceRules.presenceSeconds) }
        let allowed = DeviceRules.presenceSecondsAllowed
        guard let seconds = ttl.integer, allowed.contains(seconds) else {
            throw Problem(
                400, "\"ttl\" must be seconds, \(allowed.lowerBound) to \(allowed.upperBound)")
        }
        return UInt64(seconds)
    }

    static func parameters(
        _ request: HTTPServerRequest, known: [String]
    ) throws -> [String: String] {
        var found: [String: String] = [:]
        for pair in request.query.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = PercentEncoding.decode(parts[0]) ?? ""
            guard known.contains(name) else {
                throw Problem(
                    400,
                    "there is no parameter \"\(Suggestion.shown(String(name)))\""
                        + Suggestion.hint(for: name, among: known)
                        + "; known: " + known.joined(separator: ", "))
            }
            guard parts.count == 2, let value = PercentEncoding.decode(parts[1]), !value.isEmpty
            else { throw Problem(400, "the parameter \(name) has no value") }
            guard found.updateValue(value, forKey: name) == nil else {
                throw Problem(400, "the parameter \(name) is given twice")
            }
        }
        return found
    }
}
