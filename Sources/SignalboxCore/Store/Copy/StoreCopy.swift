/// Copies all that one store keeps to another.
///
/// The target stores the progress in the transaction of each page, so that after any interruption the next copy
/// continues exactly there.
public struct StoreCopy {
    private let source: any StoreContents
    private let target: any StoreContents

    /// What was copied.
    public struct Result: Sendable, Equatable {
        /// Records by kind, the same in both stores.
        public var counts: [StoredKind: Int]
        /// Damaged deliveries of the source that were left out.
        public var damaged: Int
        /// An earlier copy had finished, and this one had nothing to do.
        public var wasFinished = false
    }

    /// The progress of a copy.
    public struct Progress: Sendable {
        /// What is copied now.
        public var kind: StoredKind
        /// Records of this kind that are copied.
        public var done: Int
        /// Records of this kind in the source.
        public var total: Int
        /// Whether all of this kind are copied.
        public var isLast: Bool
    }

    /// Makes a copy, which `run` begins.
    public init(from source: any StoreContents, to target: any StoreContents) {
        self.source = source
        self.target = target
    }

    /// Copies everything that is not copied yet, and compares the counts.
    public func run(_ progress: (Progress) -> Void = { _ in }) throws -> Result {
        guard try source.mark() == nil else { throw StoreError.unfinishedCopy(source.place) }
        if let result = try finished() { return result }
        var mark = try begin()
        let totals = try source.counts()
        // A resumed copy already has some of them.
        var done = try target.counts()[mark.kind] ?? 0
        while true {
            let page = try source.page(mark.kind, after: mark.after)
            var next = mark
            next.damaged += page.damaged
            next.after = page.end
            let isEnd = page.isLast && mark.kind.next == nil
            if page.isLast, let kind = mark.kind.next { (next.kind, next.after) = (kind, "") }
            if next != mark { try target.write(page.records, mark: next, replacing: mark) }
            done += page.records.reduce(0) { $0 + $1.count }
            progress(
                Progress(
                    kind: mark.kind, done: done, total: totals[mark.kind] ?? 0,
                    isLast: page.isLast))
            if page.isLast { done = 0 }
            mark = next
            if isEnd { break }
        }
        let counts = try compare(damaged: mark.damaged)
        try target.write([], mark: nil, replacing: mark)
        return Result(counts: counts, damaged: mark.damaged)
    }

    /// The mark of an unfinished copy of this source, or of a new one.
    private func begin() throws -> CopyMark {
        let identity = try source.identity()
        let known = try target.mark()
        if let known, !known.source.isEmpty {
            guard known.source == identity else {
                throw StoreError(
                    "store-unfinished",
                    "\(target.place) holds an unfinished copy of another store, or a gateway has used "
                        + "\(source.place) since that copy began; empty the target and copy again")
            }
            return known
        }
        let mark = CopyMark(source: identity)
        try target.write([], mark: mark, replacing: known)
        return mark
    }

    /// The result of an earlier copy of this source; nil if the target is empty, or a copy is unfinished.
    private func finished() throws -> Result? {
        let found = try target.counts()
        guard (try target.mark()?.source ?? "").isEmpty, found.contains(where: { $0.value > 0 })
        else { return nil }
        guard let mark = try target.finished(), try mark.source == source.identity() else {
            let words = StoredKind.allCases.compactMap { kind in
                found[kind].map { "\($0) \(kind.words)" }
            }
            throw StoreError(
                "store-not-empty",
                "\(target.place) is not empty: \(words.joined(separator: ", ")); copy into an empty "
                    + "database or a new folder")
        }
        let faults = try differences(found, damaged: mark.damaged)
        guard faults.isEmpty else {
            throw StoreError(
                "store-not-empty",
                "\(source.place) was copied to \(target.place) before, which has been used since: it "
                    + "has \(faults)")
        }
        return Result(counts: found, damaged: mark.damaged, wasFinished: true)
    }

    private func compare(damaged: Int) throws -> [StoredKind: Int] {
        let found = try target.counts()
        let faults = try differences(found, damaged: damaged)
        guard faults.isEmpty else {
            throw StoreError(
                "store-differs",
                "\(target.place) has \(faults) of \(source.place); empty the target and copy again")
        }
        return found
    }

    /// Describes which counts differ from the source.
    private func differences(_ found: [StoredKind: Int], damaged: Int) throws -> String {
        var wanted = try source.counts()
        wanted[.waiting, default: 0] -= damaged
        return StoredKind.allCases.filter { wanted[$0] ?? 0 != found[$0] ?? 0 }
            .map { "\(found[$0] ?? 0) of \(wanted[$0] ?? 0) \($0.words)" }
            .joined(separator: ", ")
    }
}

extension StoredKind {
    /// What messages call it.
    public var words: String {
        switch self {
        case .numbers: "counters"
        case .devices: "devices"
        case .badges: "badge counters"
        case .values: "values of plugins"
        case .seen: "dedupe keys"
        case .waiting: "waiting deliveries"
        case .dead: "dead letters"
        case .reports: "reports"
        case .receivers: "receivers of outcomes"
        case .outcomes: "outcomes"
        }
    }
}

extension StoredRecord {
    /// As how many it counts.
    var count: Int { if case .outcomes(let row, _) = self { row.count } else { 1 } }
}

extension StoreError {
    /// The tables are not those of this version.
    public static func unknownSchema(_ place: String, found: Int, expected: Int) -> StoreError {
        guard found > 0 else {
            return StoreError(
                "store-newer",
                "\(place) has tables and no schema number: it was repaired or copied by other means than those of "
                    + "docs/operations.md, which set the number, or a development version made it")
        }
        return StoreError(
            "store-newer",
            "\(place) has the schema number \(found), and this signalbox uses \(expected): a newer version or a "
                + "development version made it; run that version, restore a backup, or use another store"
        )
    }

    /// A gateway must not start on half of a store.
    public static func unfinishedCopy(_ place: String) -> StoreError {
        StoreError(
            "store-unfinished",
            "a copy into \(place) was not finished; run the same `signalbox store copy` again, or "
                + "use another store")
    }
}
