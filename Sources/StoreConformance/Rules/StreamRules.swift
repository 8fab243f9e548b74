internal import SignalboxCore

extension StoreConformance {
    /// The stream of outcomes, and plugins' values.
    static let streamRules: [StoreRule] = [
        StoreRule("an outcome is told in the commit that ends its delivery, in order") { probe in
            let store = try await probe.open()
            try probe.equal(try await store.store.setOutcomeReceivers(["crm"]), ["crm": 1])
            let ids = try await store.fill(3)
            let token = try await store.lease().token
            try await store.settle(
                [.delivered(ids[0]), .delivered(ids[1])], token, outcomes: Session.pack([1, 2]))
            try await store.settle([.delivered(ids[2])], token, outcomes: Session.pack([3]))
            try await store.store.append(Session.pack([4, 5]))
            try probe.equal(store.store.nextOutcome, 6, "next")
            let rows = try await store.store.outcomes(from: 1).rows
            try probe.equal(rows.first?.first, 1)
            try probe.equal(rows.reduce(0) { $0 + $1.count }, 5, "outcomes")
            for (row, next) in zip(rows, rows.dropFirst()) {
                try probe.equal(next.first, row.first + UInt64(row.count), "a gap:")
            }
            let later = try await store.store.outcomes(from: 4).rows
            try probe.expect(
                later.first.map { $0.first <= 4 && $0.first + UInt64($0.count) > 4 } ?? false,
                "what comes from 4 on does not hold 4")
            await store.store.close()
        },
        StoreRule("outcomes stay until every receiver has taken them") { probe in
            let store = try await probe.open()
            _ = try await store.store.setOutcomeReceivers(["a", "b"])
            for number in UInt64(1)...3 { try await store.store.append(Session.pack([number])) }
            try await store.store.outcomesTaken(by: "a", next: 4)
            try probe.equal(try await store.store.outcomes(from: 1).rows.count, 3)
            try await store.store.outcomesTaken(by: "b", next: 3)
            try probe.equal(try await store.store.outcomes(from: 1).rows.map(\.first), [3])
            // A new receiver begins here.
            try probe.equal(
                try await store.store.setOutcomeReceivers(["a", "c"]), ["a": 4, "c": 4])
            await store.store.close()
        },
        StoreRule("one owner at a time sends a receiver's outcomes", only: .shared) { probe in
            let (one, two) = (try await probe.open("one"), try await probe.open("two"))
            for store in [one, two] { _ = try await store.store.setOutcomeReceivers(["crm"]) }
            try await two.store.append(Session.pack([1, 2]))
            func claim(_ store: Session, _ forMs: UInt64) async throws -> UInt64? {
                let claim = try await store.store.claimOutcomes(for: "crm", forMs: forMs)
                return claim?.next
            }
            try probe.equal(try await claim(one, 5_000), 1)
            try probe.equal(try await claim(two, 5_000), nil, "while one sends")
            try await one.store.outcomesTaken(by: "crm", next: 2)
            try probe.equal(try await claim(one, 9_000), 2, "longer")
            await probe.advance(ms: 5_000)
            try probe.equal(try await claim(two, 5_000), nil, "before the end of the longer claim")
            // An owner's clock may lag behind the store's.
            await probe.advance(ms: 5_000)
            try probe.equal(try await claim(two, 5_000), 2, "after its end")
            try probe.equal(try await claim(one, 5_000), nil, "while two sends")
            try probe.equal(try await claim(two, 0), 2)
            try probe.equal(try await claim(one, 5_000), 2, "after two has let it go")
            let again = try await probe.open("one")
            _ = try await again.store.setOutcomeReceivers(["crm"])
            try probe.equal(try await claim(two, 5_000), 2, "of a life that is over")
            try probe.equal(
                try await two.store.claimOutcomes(for: "none", forMs: 1), nil, "no such receiver")
        },
        StoreRule("values are each instance's own, and some end by the store's clock") { probe in
            let store = try await probe.open()
            try await store.set("a", "k", [1, 0, 255])
            try await store.set("b", "k", [2], forMs: 3_000)
            try probe.equal(try await store.value("a", "k"), [1, 0, 255])
            try probe.equal(try await store.value("b", "k"), [2])
            try probe.equal(try await store.value("c", "k"), nil)
            try await store.set("a", "other", [3])
            try probe.equal(try await store.values("a"), ["k": [1, 0, 255], "other": [3]])
            try probe.equal(try await store.values("b"), ["k": [2]])
            try probe.equal(try await store.values("c"), [:])
            await probe.advance(ms: 3_000)
            try probe.equal(try await store.value("b", "k"), nil)
            try probe.equal(try await store.values("b"), [:])
            try probe.equal(try await store.value("a", "k"), [1, 0, 255])
            try await store.set("a", "k", nil)
            try probe.equal(try await store.value("a", "k"), nil)
            try await store.set("a", "empty", [])
            try probe.equal(try await store.value("a", "empty"), [])
            await store.store.close()
        },
    ]
}
