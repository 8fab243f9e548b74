import Testing

@testable import SignalboxDispatch

/// Places of a sender whose requests name origins.
@Suite struct OriginQueueTests {
    private var queue = OriginQueue<Int>()

    /// Origins that have answered in time.
    private static func quick(_ names: [String]) -> OriginQueue<Int> {
        var queue = OriginQueue<Int>()
        for name in names {
            queue.add(-1, to: name)
            _ = queue.next(room: 100)
            queue.ended(at: name, isSlow: false)
        }
        return queue
    }

    private static func all(_ queue: inout OriginQueue<Int>, room: Int) -> [Int] {
        var out: [Int] = []
        while let next = queue.next(room: room) { out.append(next) }
        return out
    }

    @Test func `one origin leaves a quarter of the places to the others`() {
        var queue = Self.quick(["https://a", "https://b"])
        for item in 0..<100 { queue.add(item, to: "https://a") }
        #expect(Self.all(&queue, room: 32) == Array(0..<24))
        queue.add(100, to: "https://b")
        queue.add(101, to: "")
        #expect(Self.all(&queue, room: 32) == [100, 101])
        // One ends, one begins, in order.
        queue.ended(at: "https://a", isSlow: false)
        #expect(Self.all(&queue, room: 32) == [24])
        queue.add(102, to: "https://a")
        for _ in 0..<24 { queue.ended(at: "https://a", isSlow: false) }
        #expect(Self.all(&queue, room: 32) == Array(25..<49))
        #expect(queue.takeAll().sorted() == Array(49..<100) + [102])
        #expect(queue.running == 26 && Self.all(&queue, room: 32) == [])
    }

    @Test func `origins that do not answer keep few places, until they answer`() {
        var queue = Self.quick(["https://slow0", "https://slow1", "https://fast"])
        for item in 0..<60 { queue.add(item, to: "https://slow\(item % 2)") }
        #expect(Self.all(&queue, room: 32).count == 32)
        for item in 0..<32 { queue.ended(at: "https://slow\(item % 2)", isSlow: true) }
        // Two of 32 each.
        #expect(Self.all(&queue, room: 32).count == 4)
        for item in 0..<50 { queue.add(100 + item, to: "https://fast") }
        #expect(Self.all(&queue, room: 32).count == 24)
        queue.ended(at: "https://slow0", isSlow: false)
        #expect(Self.all(&queue, room: 32).count == 5)
    }

    @Test func `an origin that nobody knows has few places until it answers`() {
        var queue = queue
        for item in 0..<40 { queue.add(item, to: "https://new") }
        #expect(Self.all(&queue, room: 32) == [0, 1])
        queue.ended(at: "https://new", isSlow: false)
        #expect(Self.all(&queue, room: 32) == Array(2..<25))
    }

    @Test func `only so many origins are remembered`() {
        var queue = queue
        for item in 0..<1_500 {
            queue.add(item, to: "https://\(item)")
            #expect(queue.next(room: 8) == item)
            queue.ended(at: "https://\(item)", isSlow: false)
        }
        for (origin, places) in [(0, 6), (1_499, 1)] {
            for item in 0..<8 { queue.add(item, to: "https://\(origin)") }
            #expect(Self.all(&queue, room: 8).count == places)
            _ = queue.takeAll()
            for _ in 0..<places { queue.ended(at: "https://\(origin)", isSlow: true) }
        }
    }

    @Test func `all slow origins together leave three quarters of the places to the others`() {
        var queue = Self.quick(["https://fast"])
        for item in 0..<64 { queue.add(100 + item, to: "https://slow\(item)") }
        #expect(Self.all(&queue, room: 64).count == 16)
        for item in 0..<48 { queue.add(200 + item, to: "https://fast") }
        #expect(Self.all(&queue, room: 64) == Array(200..<248))
        // Each gets its turn, in whatever order they end.
        var begun = 16
        for _ in 0..<48 {
            queue.ended(at: "https://slow\(begun - 16)", isSlow: true)
            #expect(Self.all(&queue, room: 64) == [100 + begun])
            begun += 1
        }
    }

    @Test func `one that has a place does not keep another slow one from having it next`() {
        var queue = queue
        for item in 0..<6 { queue.add(10 + item, to: "https://slow\(item % 2)") }
        var order: [Int] = []
        for _ in 0..<6 {
            let next = Self.all(&queue, room: 4)
            #expect(next.count == 1)
            order += next
            queue.ended(at: "https://slow\(next[0] % 2)", isSlow: true)
        }
        #expect(order == [10, 11, 12, 13, 14, 15])
    }

    @Test func `what is too much for a slow origin does not wait in memory`() {
        var queue = Self.quick(["https://slow"])
        for item in 0..<1_000 { queue.add(item, to: "https://slow") }
        #expect(Self.all(&queue, room: 32) == Array(0..<24))
        #expect(queue.takeExcess() == [])
        queue.ended(at: "https://slow", isSlow: true)
        #expect(queue.takeExcess() == Array(152..<1_000))
        queue.add(1_000, to: "https://slow")
        #expect(Self.all(&queue, room: 32) == [])
        #expect(queue.takeExcess() == [1_000])
        #expect(queue.takeAll() == Array(24..<152))
    }

    @Test func `a small room serves every origin`() {
        var queue = queue
        for item in 0..<3 { queue.add(item, to: "https://\(item)") }
        #expect(Self.all(&queue, room: 1) == [0])
        queue.ended(at: "https://0", isSlow: true)
        #expect(Self.all(&queue, room: 1) == [1])
    }

    /// Whatever happens, each request begins once, and nothing is left that could begin.
    @Test func `no request is forgotten, and the bounds hold`() {
        struct Request: Equatable {
            var number: Int
            var origin: String
        }
        var (queue, running, begun, added) = (OriginQueue<Request>(), [Request](), 0, 0)
        func begin() {
            while let request = queue.next(room: 8) {
                running.append(request)
                begun += 1
            }
        }
        for turn in 0..<20_000 {
            if turn < 10_000, Bool.random() {
                let origin = Bool.random() ? "" : "https://\(Int.random(in: 0..<5))"
                queue.add(Request(number: added, origin: origin), to: origin)
                added += 1
            } else if let place = running.indices.randomElement() {
                queue.ended(at: running.remove(at: place).origin, isSlow: Bool.random())
            }
            begin()
            // These come again by another way.
            added -= queue.takeExcess().count
            #expect(running.count <= 8 && running.count == queue.running)
            for origin in 0..<5 {
                #expect(running.count { $0.origin == "https://\(origin)" } <= 6)
            }
        }
        #expect(begun == added && running.isEmpty && queue.takeAll() == [])
    }
}
