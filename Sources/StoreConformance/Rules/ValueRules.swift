internal import SignalboxCore

extension StoreConformance {
    /// Durable values: lists of keys, and changes that depend on what is stored.
    static let valueRules: [StoreRule] = [
        StoreRule("keys are listed by prefix, in the order of their bytes, page by page") { probe in
            let store = try await probe.open()
            for key in ["b", "a/2", "é", "a/10", "a", "Z", "a/1"] {
                try await store.set("one", key, [1])
            }
            try await store.set("two", "a/3", [1])
            try await store.set("one", "a/4", [1], forMs: 10)
            func keys(_ prefix: String, _ after: String, _ limit: Int) async throws -> [String] {
                try await store.result {
                    store.store.keys(
                        instance: "one", prefix: prefix, after: after, limit: limit, done: $0)
                }
            }
            await probe.advance(ms: 11)
            try probe.equal(
                try await keys("", "", 9), ["Z", "a", "a/1", "a/10", "a/2", "b", "é"])
            try probe.equal(try await keys("a/", "", 2), ["a/1", "a/10"])
            try probe.equal(try await keys("a/", "a/10", 2), ["a/2"])
            try probe.equal(try await keys("", "b", 9), ["é"])
            try probe.equal(try await keys("%", "", 9), [])
            await store.store.close()
        },
        StoreRule("a push that was committed can be opened once, for a week") { probe in
            let store = try await probe.open()
            let mark = OpenMark(eventID: 7, route: "r")
            let ann = OpenClaim(mark, of: .user(UserKey(app: "a", user: "ann")))
            let phone = OpenClaim(mark, of: .token("t"))
            let others = [
                OpenClaim(mark, of: .user(UserKey(app: "a", user: "eve"))),
                OpenClaim(mark, of: .user(UserKey(app: "", user: "ann"))),
                OpenClaim(OpenMark(eventID: 8, route: "r"), of: .token("t")),
                OpenClaim(OpenMark(eventID: 7, route: "s"), of: .token("t")),
            ]
            func shown(_ claims: [OpenClaim]) async throws -> [Bool] {
                try await store.result { store.store.wereShown(claims, done: $0) }
            }
            try probe.equal(try await shown([ann, phone]), [false, false])
            var item = Session.item([Session.delivery(try await store.ids(1)[0])], key: "k")
            item.shown = [ann, phone]
            try await store.commit([item], dedupeMs: 1_000)
            // To ask makes nothing known.
            for _ in 0..<2 {
                try probe.equal(
                    try await shown([ann, phone] + others),
                    [true, true] + others.map { _ in false }
                )
            }
            let life = OpenClaim.lifeMs
            let first = try await store.commit([ann.use, phone.use, ann.use], dedupeMs: life)
            try probe.equal(first.duplicates, [2])
            let again = try await store.commit([phone.use, ann.use], dedupeMs: life)
            try probe.equal(again.duplicates, [0, 1])
            await probe.advance(ms: life + 1)
            try probe.equal(try await shown([ann, phone]), [false, false])
            await store.store.close()
        },
        StoreRule("a value is replaced only if the expected one is stored") { probe in
            let store = try await probe.open()
            func replace(
                _ expected: [UInt8]?, _ value: [UInt8]?, forMs: UInt64? = nil
            ) async throws -> KeyValueEdited {
                try await store.edit("k", .replace(expected: expected, value: value, forMs: forMs))
            }
            let (done, refused) = (true, false)
            try probe.equal(try await replace([1], [2]), .init(isDone: refused, value: nil))
            try probe.equal(try await replace(nil, [1]), .init(isDone: done, value: [1]))
            try probe.equal(try await replace(nil, [2]), .init(isDone: refused, value: [1]))
            try probe.equal(try await replace([2], nil), .init(isDone: refused, value: [1]))
            try probe.equal(
                try await replace([1], [3], forMs: 10), .init(isDone: done, value: [3]))
            await probe.advance(ms: 11)
            // An expired value counts as missing.
            try probe.equal(try await replace([3], [4]), .init(isDone: refused, value: nil))
            try probe.equal(try await replace(nil, []), .init(isDone: done, value: []))
            try probe.equal(try await replace([], nil), .init(isDone: done, value: nil))
            try probe.equal(try await store.value("i", "k"), nil)
            try probe.equal(try await replace(nil, nil), .init(isDone: done, value: nil))
            await store.store.close()
        },
        StoreRule("a counter keeps its end, and another text is no counter") { probe in
            let store = try await probe.open()
            func add(_ amount: Int64, forMs: UInt64? = nil) async throws -> KeyValueEdited {
                try await store.edit("k", .add(amount, forMs: forMs))
            }
            func sum(_ text: String) -> KeyValueEdited {
                KeyValueEdited(isDone: true, value: Array(text.utf8))
            }
            try probe.equal(try await add(5, forMs: 100_000), sum("5"))
            await probe.advance(ms: 60_000)
            try probe.equal(try await add(-7, forMs: 100_000), sum("-2"))
            await probe.advance(ms: 60_000)
            try probe.equal(try await store.value("i", "k"), nil)
            try probe.equal(try await add(1), sum("1"))
            await probe.advance(ms: 1_000_000)
            try probe.equal(try await add(.max - 1), sum(String(Int64.max)))
            try probe.equal(
                try await add(1), .init(isDone: false, value: Array(String(Int64.max).utf8)))
            try await store.set("i", "k", [0xFF, 0x31])
            try probe.equal(try await add(1), .init(isDone: false, value: [0xFF, 0x31]))
            try probe.equal(try await store.value("i", "k"), [0xFF, 0x31])
            await store.store.close()
        },
        StoreRule("no addition is lost among many at once, from the first on") { probe in
            let store = try await probe.open()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        let edited = try await store.edit("k", .add(1, forMs: nil))
                        try probe.expect(edited.isDone, "an addition was refused")
                    }
                }
                try await group.waitForAll()
            }
            try probe.equal(try await store.value("i", "k"), Array("40".utf8))
            await store.store.close()
        },
    ]
}

extension Session {
    fileprivate func edit(_ key: String, _ edit: KeyValueEdit) async throws -> KeyValueEdited {
        try await result { store.edit(instance: "i", key: key, edit, done: $0) }
    }
}
