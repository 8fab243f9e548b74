package import SignalboxCore
internal import SignalboxJSON

/// What a text that may be shortened is to the reader; `data` is a place that the builder named.
package enum FitField: String {
    case body, data, subtitle, title
}

/// Makes a payload fit a limit in bytes: texts are shortened, everything else stays whole.
package struct PayloadFit {
    /// The longest texts of these fields are cut first, down to a floor.
    private struct Step {
        var fields: [FitField]
        var floor: Int
    }

    /// A short beginning of each text is worth more than all of one of them.
    private static let steps = [
        Step(fields: [.body, .data], floor: 192), Step(fields: [.subtitle], floor: 64),
        Step(fields: [.title], floor: 64), Step(fields: [.body, .data], floor: 0),
        Step(fields: [.subtitle], floor: 0), Step(fields: [.title], floor: 0),
    ]

    private let bytesMax: Int
    /// Names and texts count as raw UTF-8.
    private let countsTexts: Bool
    /// The parts that count; none: all of it.
    private let counted: [[String]]
    /// What may be shortened.
    private let places: [(field: FitField, pointer: [String])]
    /// What stays whole, also inside of a place.
    private let whole: [[String]]

    /// A limit; pointers are split into their steps.
    package init(
        bytesMax: Int, countsTexts: Bool = false, counted: [[String]] = [],
        places: [(field: FitField, pointer: [String])], whole: [[String]] = []
    ) {
        self.bytesMax = bytesMax
        self.countsTexts = countsTexts
        self.counted = counted
        self.places = places
        self.whole = whole
    }

    /// The payload, if need be shortened, and which fields were; nil: even then it would be too large.
    package func fitted(_ payload: JSONValue) -> (payload: JSONValue, shortened: Set<FitField>)? {
        if size(of: payload) <= bytesMax { return (payload, []) }
        var tree = FitTree(payload)
        for place in places { tree.open(place.pointer, as: place.field) }
        let isFree = tree.leaves.map { leaf in
            (counted.isEmpty || counted.contains { leaf.path.starts(with: $0) })
                && !whole.contains { leaf.path.starts(with: $0) }
        }
        let texts = tree.leaves.map { leaf in
            ShortenedText(
                leaf.text, escapes: countsTexts ? leaf.escapes - 1 : leaf.escapes,
                bytesMax: bytesMax)
        }
        let bare = tree.payload(zip(tree.leaves, isFree).map { $1 ? "" : $0.text })
        let room = bytesMax - size(of: bare)
        guard room >= 0, let caps = caps(texts, tree.leaves, isFree, room: room) else { return nil }
        let cut = zip(texts, caps).map { $0.cut(cap: $1) }
        var shortened: Set<FitField> = []
        for (index, text) in cut.enumerated() where text != texts[index].text {
            shortened.insert(tree.leaves[index].field)
        }
        return (tree.payload(cut), shortened)
    }

    /// How much of each text is kept.
    private func caps(
        _ texts: [ShortenedText], _ leaves: [FitTree.Leaf], _ isFree: [Bool], room: Int
    ) -> [Int]? {
        var caps = texts.map { _ in Int.max }
        func total(_ caps: [Int]) -> Int {
            texts.indices.reduce(0) { $0 + (isFree[$1] ? texts[$1].cost(cap: caps[$1]) : 0) }
        }
        func capped(_ step: Step, _ cap: Int) -> [Int] {
            caps.indices.map {
                isFree[$0] && step.fields.contains(leaves[$0].field) ? min(caps[$0], cap) : caps[$0]
            }
        }
        for step in Self.steps {
            guard total(capped(step, step.floor)) <= room else {
                caps = capped(step, step.floor)
                continue
            }
            var (low, high) = (step.floor, bytesMax)
            while low < high {
                let middle = (low + high + 1) / 2
                if total(capped(step, middle)) <= room { low = middle } else { high = middle - 1 }
            }
            return capped(step, low)
        }
        return nil
    }

    private func size(of payload: JSONValue) -> Int {
        guard !counted.isEmpty else { return size(ofPart: payload) }
        return counted.reduce(0) { sum, pointer in
            let part = pointer.reduce(JSONValue?.some(payload)) { $0?[$1] }
            return sum + (part.map(size(ofPart:)) ?? 0)
        }
    }

    private func size(ofPart value: JSONValue) -> Int {
        guard countsTexts else {
            var bytes: [UInt8] = []
            value.write(to: &bytes)
            return bytes.count
        }
        switch value {
        case .string(let text): return text.utf8.count
        case .object(let members):
            return members.reduce(0) { $0 + $1.key.utf8.count + size(ofPart: $1.value) }
        case .array(let elements): return elements.reduce(0) { $0 + size(ofPart: $1) }
        default: return 0
        }
    }
}
