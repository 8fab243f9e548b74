/// The smallest element first.
struct BinaryHeap<Element: Sendable>: Sendable {
    private var elements: [Element] = []
    private let isBefore: @Sendable (Element, Element) -> Bool

    init(isBefore: @escaping @Sendable (Element, Element) -> Bool) { self.isBefore = isBefore }

    var count: Int { elements.count }
    var first: Element? { elements.first }

    mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard isBefore(elements[child], elements[parent]) else { return }
            elements.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() {
        guard let last = elements.popLast(), !elements.isEmpty else { return }
        elements[0] = last
        var parent = 0
        while true {
            var smallest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < elements.count && isBefore(elements[child], elements[smallest]) {
                smallest = child
            }
            guard smallest != parent else { return }
            elements.swapAt(parent, smallest)
            parent = smallest
        }
    }
}
