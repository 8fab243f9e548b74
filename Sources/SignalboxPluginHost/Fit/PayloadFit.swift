package import SignalboxCore
internal import SignalboxJSON

/// The role of a text that may be shortened; `data` is a place named by the builder.
package enum FitField: String {
    case body, data, subtitle, title
}

/// Fits a payload into a byte limit by shortening texts; everything else stays whole.
package struct PayloadFit {
    /// The longest texts of these fields are cut first, down to a floor.
    private struct Step {
        var fields: [FitField]
        var floor: Int
    }

    /// The start of every text is worth more than the whole of one.
    private static let steps = [
        Step(fields: [.body, .data], floor: 192), Step(fields: [.subtitle], floor: 64),
        Step(fields: [.title], floor: 64), Step(fields: [.body, .data], floor: 0),
        Step(fields: [.subtitle], floor: 0), Step(fields: [.title], floor: 0),
    ]

    private let bytesMax: Int
    /// If set, only names and texts count, as raw UTF-8; otherwise the JSON counts.
    private let countsTexts: Bool
    /// The parts that count; if empty, the whole payload.
    private let counted: [[String]]
    /// What may be shortened.
    private let places: [(field: FitField, pointer: [String])]
    /// What stays whole, even inside one of `places`.
    private let whole: [[String]]

    /// Sets the limit. Pointers are given as their steps.
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

    /// The payload, shortened if necessary, and the fields that were shortened; nil if it cannot fit.
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

    /// The most that each text may cost; nil if no choice fits.
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

    /// How many bytes of a payload count.
    func size(of payload: JSONValue) -> Int {
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
