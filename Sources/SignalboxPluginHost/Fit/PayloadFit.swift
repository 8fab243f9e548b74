package import SignalboxCore
internal import SignalboxJSON

/// The role of a text that may be shortened; `data` is a place named by the builder.
package enum FitField: String {
    case body, data, subtitle, title
}

/// Fits a payload into a byte limit by shortening texts and dropping optional members; everything else stays whole.
package struct PayloadFit {
    /// The longest texts of these fields are cut first, down to a floor.
    private struct Step {
        var fields: [FitField]
        var floor: Int
    }

    /// The start of every text is worth more than all of one text. After the first steps, members are dropped.
    private static let readableSteps = 3
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
    /// What may be left out, in order.
    private let omit: [[String]]

    /// Sets the limit. Pointers are given as their steps.
    package init(
        bytesMax: Int, countsTexts: Bool = false, counted: [[String]] = [],
        places: [(field: FitField, pointer: [String])], whole: [[String]] = [],
        omit: [[String]] = []
    ) {
        self.bytesMax = bytesMax
        self.countsTexts = countsTexts
        self.counted = counted
        self.places = places
        self.whole = whole
        self.omit = omit
    }

    /// The payload, shortened if necessary, and what was shortened or left out; nil if it cannot fit.
    package func fitted(_ payload: JSONValue) -> (payload: JSONValue, shortened: ShortenedTexts)? {
        if size(of: payload) <= bytesMax { return (payload, []) }
        if omit.isEmpty { return shortened(payload, Self.steps.count) }
        if let made = shortened(payload, Self.readableSteps) { return made }
        let leftOut = LeftOut(omit, in: payload)
        // As few as leave room for the beginnings of all texts.
        var (low, high) = (1, leftOut.members.count)
        var best: (payload: JSONValue, shortened: ShortenedTexts)?
        while low <= high {
            let count = (low + high) / 2
            let rest = leftOut.payload(payload, without: count)
            if let made = shortened(rest, Self.readableSteps) {
                best = (made.payload, made.shortened.union(leftOut.names(count)))
                high = count - 1
            } else {
                low = count + 1
            }
        }
        if let best { return best }
        let count = leftOut.members.count
        return shortened(leftOut.payload(payload, without: count), Self.steps.count)
            .map { ($0.payload, $0.shortened.union(leftOut.names(count))) }
    }

    /// The payload with shorter texts, by the first steps alone; nil if it cannot fit.
    private func shortened(
        _ payload: JSONValue, _ stepCount: Int
    ) -> (payload: JSONValue, shortened: ShortenedTexts)? {
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
        guard room >= 0,
            let caps = caps(texts, tree.leaves, isFree, room: room, Self.steps.prefix(stepCount))
        else { return nil }
        let cut = zip(texts, caps).map { $0.cut(cap: $1) }
        var shortened: ShortenedTexts = []
        for (index, text) in cut.enumerated() where text != texts[index].text {
            shortened.formUnion(ShortenedTexts(field: tree.leaves[index].field.rawValue))
        }
        return (tree.payload(cut), shortened)
    }

    /// The most that each text may cost; nil if no choice fits.
    private func caps(
        _ texts: [ShortenedText], _ leaves: [FitTree.Leaf], _ isFree: [Bool], room: Int,
        _ steps: ArraySlice<Step>
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
        for step in steps {
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
