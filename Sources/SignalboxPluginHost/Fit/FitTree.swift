internal import SignalboxCore
internal import SignalboxJSON

/// A payload whose texts at chosen places can be replaced, including inside JSON held in a string.
struct FitTree {
    /// A text that may be shortened.
    struct Leaf {
        var path: [String]
        var field: FitField
        var text: String
        /// How many times JSON escapes it: once, plus once for each string of JSON around it.
        var escapes: Int
    }

    private indirect enum Node {
        case value(JSONValue)
        case leaf(Int)
        case object([(key: String, value: Node)])
        case array([Node])
        /// A string that holds JSON.
        case text(Node)
    }

    private var root: Node
    private(set) var leaves: [Leaf] = []

    init(_ payload: JSONValue) { root = .value(payload) }

    /// Makes the text at a place replaceable, or every text below it; does nothing if there is no text.
    mutating func open(_ pointer: [String], as field: FitField) {
        root = opened(root, pointer[...], [], field, escapes: 1)
    }

    /// The payload with new texts, one per leaf.
    func payload(_ texts: [String]) -> JSONValue { Self.payload(root, texts) }

    private mutating func opened(
        _ node: Node, _ rest: ArraySlice<String>, _ path: [String], _ field: FitField, escapes: Int
    ) -> Node {
        switch node {
        case .leaf: return node
        case .text(let inner):
            return .text(opened(inner, rest, path, field, escapes: escapes + 1))
        case .object(let members):
            return .object(
                members.map { member in
                    guard rest.first == nil || rest.first == member.key else { return member }
                    let (rest, path) = (rest.dropFirst(), path + [member.key])
                    return (
                        member.key, opened(member.value, rest, path, field, escapes: escapes)
                    )
                })
        case .array(let elements):
            return .array(
                elements.enumerated().map { index, element in
                    let key = String(index)
                    guard rest.first == nil || rest.first == key else { return element }
                    let (rest, path) = (rest.dropFirst(), path + [key])
                    return opened(element, rest, path, field, escapes: escapes)
                })
        case .value(.string(let text)):
            guard rest.isEmpty else {
                guard let inner = try? JSONValue.parse(text) else { return node }
                switch inner {
                case .object, .array: break
                default: return node
                }
                return .text(opened(.value(inner), rest, path, field, escapes: escapes + 1))
            }
            leaves.append(Leaf(path: path, field: field, text: text, escapes: escapes))
            return .leaf(leaves.count - 1)
        case .value(.object(let members)):
            let nodes = members.map { (key: $0.key, value: Node.value($0.value)) }
            return opened(.object(nodes), rest, path, field, escapes: escapes)
        case .value(.array(let elements)):
            let nodes = elements.map { Node.value($0) }
            return opened(.array(nodes), rest, path, field, escapes: escapes)
        case .value: return node
        }
    }

    private static func payload(_ node: Node, _ texts: [String]) -> JSONValue {
        switch node {
        case .value(let value): value
        case .leaf(let index): .string(texts[index])
        case .object(let members):
            .object(members.map { JSONValue.Member($0.key, payload($0.value, texts)) })
        case .array(let elements): .array(elements.map { payload($0, texts) })
        case .text(let inner): .string(payload(inner, texts).text)
        }
    }
}
