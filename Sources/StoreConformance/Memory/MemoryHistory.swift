internal import SignalboxCore

/// History as a value.
struct MemoryHistory: Sendable {
    var limits = HistoryLimits.none
    private var rows: [HistoryRow] = []

    mutating func add(
        _ pack: HistoryPack, isDuplicate: Bool = false, by owner: String, nowUnixMs: UInt64
    ) {
        guard !pack.isEmpty, limits.bytesMax > 0 else { return }
        var row = HistoryRow()
        row.unixMs = nowUnixMs
        row.gateway = owner
        pack.append(to: &row, isDuplicate: isDuplicate)
        rows.append(row)
        let oldest = nowUnixMs - min(nowUnixMs, limits.keepMs)
        rows.removeAll { $0.unixMs < oldest }
        var size = rows.reduce(0) { $0 + $1.size }
        while size > limits.bytesMax, !rows.isEmpty { size -= rows.removeFirst().size }
    }

    func page(_ search: HistorySearch) -> HistoryPage {
        var page = HistoryPage()
        page.rows = rows.reversed().filter {
            $0.unixMs >= search.sinceUnixMs && $0.has(anyOf: search.tags)
        }
        return page
    }

    mutating func change(_ search: HistorySearch, _ body: (HistoryRow) -> HistoryRow?) {
        rows = rows.compactMap { row in
            row.unixMs >= search.sinceUnixMs && row.has(anyOf: search.tags) ? body(row) : row
        }
    }
}
