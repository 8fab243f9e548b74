internal import SignalboxCore

extension StoreConformance {
    /// Copies from one engine to another.
    static let copyRules: [StoreRule] = [
        StoreRule("a copy of a store answers as the store did", only: .portable) { probe in
            let store = try await probe.open()
            let sample = try await CopySample(store)
            await store.store.close()
            // A little later, so that what was due is due.
            let reference = MemoryStorage(.init(nowUnixMs: { sample.nowUnixMs + 60_000 }))
            try await copy(to: reference, probe)
            let copied = Session(probe: probe, store: reference.open(owner: "one"))
            try await sample.check(copied)
            await copied.store.close()
        },
        StoreRule("a store answers as the one it was copied from", only: .portable) { probe in
            let now = try await probe.nowUnixMs()
            let reference = MemoryStorage(.init(nowUnixMs: { now }))
            let original = Session(probe: probe, store: reference.open(owner: "one"))
            let sample = try await CopySample(original)
            await original.store.close()
            try await copy(from: reference, probe)
            let store = try await probe.open()
            try await sample.check(store)
            await store.store.close()
        },
        StoreRule("a copy that was ended continues where it stopped", only: .portable) { probe in
            let now = try await probe.nowUnixMs()
            let reference = MemoryStorage(.init(nowUnixMs: { now }))
            let original = Session(probe: probe, store: reference.open(owner: "one"))
            let sample = try await CopySample(original)
            await original.store.close()
            // One page more each time.
            var pages = 0
            while true {
                pages += 1
                try probe.expect(pages < 1_000, "it never ends")
                let source = EndingContents(MemoryContents(reference), pages: 1)
                do {
                    try await copy(from: source, probe)
                    break
                } catch is EndingContents.End {}
            }
            try probe.expect(pages > 10, "only \(pages) parts")
            let store = try await probe.open()
            try await sample.check(store)
            await store.store.close()
        },
        StoreRule("only one copy writes into a store, and only into an empty one", only: .portable)
        { probe in
            let target = try await probe.engine.contents(.target)
            let mark = CopyMark(source: "somewhere")
            let badge = StoredRecord.badge(UserKey(app: "a", user: "u"), 1)
            try target.write([], mark: mark, replacing: target.mark())
            var next = mark
            next.kind = .seen
            try target.write([badge], mark: next, replacing: mark)
            try probe.expect(
                (try? target.write([badge], mark: next, replacing: mark)) == nil,
                "a page was written twice")
            try probe.equal(try target.mark(), next, "mark")
            try probe.equal(try target.counts()[.badges] ?? 0, 1, "badges")
            let other = StoreCopy(from: MemoryContents(.init(.init(nowUnixMs: { 0 }))), to: target)
            try probe.expect((try? other.run()) == nil, "a second copy continued the first")
            try target.write([], mark: nil, replacing: next)
            try probe.expect((try? other.run()) == nil, "it copied into a store with contents")
            target.close()
        },
        StoreRule("an unfinished copy is no source, and a finished one says so", only: .portable) {
            probe in
            let reference = MemoryStorage(.init(nowUnixMs: { 0 }))
            let mark = CopyMark(source: "somewhere")
            let badge = StoredRecord.badge(UserKey(app: "a", user: "u"), 1)
            let target = try await probe.engine.contents(.target)
            try target.write([badge], mark: mark, replacing: target.mark())
            target.close()
            let half = try await probe.engine.contents(.source)
            do {
                _ = try StoreCopy(from: half, to: MemoryContents(reference)).run()
                try probe.expect(false, "half of a store was copied")
            } catch let error as StoreError {
                try probe.equal(error.code, "store-unfinished", "code")
            }
            half.close()
            let whole = try await probe.engine.contents(.target)
            try whole.write([], mark: nil, replacing: mark)
            whole.close()
            for wasFinished in [false, true] {
                let source = try await probe.engine.contents(.source)
                let result = try StoreCopy(from: source, to: MemoryContents(reference)).run()
                try probe.equal(result.wasFinished, wasFinished, "finished before")
                try probe.equal(result.counts[.badges] ?? 0, 1, "badges")
                source.close()
            }
        },
    ]

    private static func copy(to reference: MemoryStorage, _ probe: StoreProbe) async throws {
        let source = try await probe.engine.contents(.source)
        defer { source.close() }
        let result = try StoreCopy(from: source, to: MemoryContents(reference)).run()
        try probe.equal(result.damaged, 0, "damaged")
    }

    private static func copy(from reference: MemoryStorage, _ probe: StoreProbe) async throws {
        try await copy(from: MemoryContents(reference), probe)
    }

    private static func copy(
        from source: any StoreContents, _ probe: StoreProbe
    ) async throws {
        let target = try await probe.engine.contents(.target)
        defer { target.close() }
        _ = try StoreCopy(from: source, to: target).run()
    }
}

extension StoreProbe {
    /// The time by the clock of an engine whose store is empty, and stays so.
    fileprivate func nowUnixMs() async throws -> UInt64 {
        let store = try await open()
        let device = Device(app: "clock", platform: "ios", token: "clock", user: "clock")
        _ = try await store.store.register(device, isUnique: true)
        let now = try await store.find("clock", "clock").first?.device.registeredUnixMs ?? 0
        _ = try await store.store.unregister([device], reports: [])
        await store.store.close()
        return now
    }
}

/// Contents that fail after some pages.
private final class EndingContents: StoreContents {
    struct End: Error {}

    private let contents: any StoreContents
    private var left: Int

    init(_ contents: any StoreContents, pages: Int) {
        self.contents = contents
        left = pages
    }

    var place: String { contents.place }
    func identity() throws -> String { try contents.identity() }
    func counts() throws -> [StoredKind: Int] { try contents.counts() }
    func mark() throws -> CopyMark? { try contents.mark() }
    func finished() throws -> CopyMark? { try contents.finished() }
    func close() { contents.close() }

    func page(_ kind: StoredKind, after: String) throws -> StorePage {
        guard left > 0 else { throw End() }
        left -= 1
        return try contents.page(kind, after: after)
    }

    func write(_ records: [StoredRecord], mark: CopyMark?, replacing old: CopyMark?) throws {
        try contents.write(records, mark: mark, replacing: old)
    }
}
