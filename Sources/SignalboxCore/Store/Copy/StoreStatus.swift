/// What an operator sees of a store, whether gateways use it or not.
public struct StoreStatus: Sendable {
    /// A gateway on the store.
    public struct Gateway: Sendable, Hashable {
        /// What it calls itself; empty if the store does not know.
        public var name: String
        /// Milliseconds since its last sign of life; nil if it is known to run.
        public var silentMs: UInt64?

        /// Makes a gateway.
        public init(name: String, silentMs: UInt64?) {
            self.name = name
            self.silentMs = silentMs
        }
    }

    /// Whether this program can use the tables.
    public enum Schema: Sendable, Hashable {
        /// The store has no tables.
        case missing
        /// They have the number that this program knows.
        case current(Int)
        /// They have another number: a newer version made them, or a development version.
        case unknown(Int, known: Int)

        fileprivate var word: String {
            switch self {
            case .missing: "missing"
            case .current: "current"
            case .unknown: "unknown"
            }
        }

        fileprivate var number: Int {
            switch self {
            case .missing: 0
            case .current(let number), .unknown(let number, _): number
            }
        }
    }

    /// The database's program and its version.
    public var engine: String
    /// The folder, or host and database.
    public var place: String
    /// Whether this program can use the tables.
    public var schema = Schema.missing
    /// The gateways.
    public var gateways: [Gateway] = []
    /// Waiting deliveries by lane.
    public var lanes: [(lane: LaneKey, count: Int)] = []
    /// Records by kind; empty if the tables cannot be read.
    public var counts: [StoredKind: Int] = [:]
    /// On the disk.
    public var bytes = 0
    /// A copy into the store was not finished.
    public var hasUnfinishedCopy = false

    /// Makes a status of a store without tables.
    public init(engine: String, place: String) {
        self.engine = engine
        self.place = place
    }

    /// For scripts.
    public var json: JSONValue {
        [
            "engine": .string(engine), "place": .string(place), "schema": .string(schema.word),
            "schema_number": .integer(Int64(schema.number)),
            "unfinished_copy": .bool(hasUnfinishedCopy), "bytes": .integer(Int64(bytes)),
            "gateways": .array(
                gateways.map { gateway in
                    [
                        "name": .string(gateway.name),
                        "silent_ms": gateway.silentMs.map { .integer(Int64(clamping: $0)) }
                            ?? .null,
                    ]
                }),
            "lanes": .array(
                lanes.map { lane, count in
                    [
                        "sender": .string(lane.name), "app": .string(lane.app),
                        "waiting": .integer(Int64(count)),
                    ]
                }),
            "counts": .object(
                kinds.map { .init($0.rawValue, .integer(Int64(counts[$0] ?? 0))) }),
        ]
    }

    private var kinds: [StoredKind] { StoredKind.allCases.filter { counts[$0] != nil } }

    /// For people.
    public var text: String {
        var lines = ["\(engine) in \(place)", "schema: \(schemaWords)"]
        if hasUnfinishedCopy {
            lines.append("a copy into it was not finished: no gateway starts on it")
        }
        for gateway in gateways {
            let name = gateway.name.isEmpty ? "a gateway" : "gateway \(gateway.name)"
            let life = gateway.silentMs.map { "last heard of \($0 / 1_000) s ago" } ?? "runs"
            lines.append("\(name): \(life)")
        }
        if gateways.isEmpty { lines.append("no gateway uses it") }
        guard !counts.isEmpty else { return lines.joined(separator: "\n") }
        let megabytes = (bytes + 50_000) / 100_000
        lines.append("\(megabytes / 10).\(megabytes % 10) MB on disk")
        for kind in kinds {
            lines.append("\(counts[kind] ?? 0) \(kind.words)")
            guard kind == .waiting else { continue }
            for (lane, count) in lanes where count > 0 {
                let app = lane.app.isEmpty ? "" : " of \(lane.app)"
                lines.append("  \(count) for \(lane.name)\(app)")
            }
        }
        return lines.joined(separator: "\n")
    }

    private var schemaWords: String {
        switch schema {
        case .missing:
            "no tables; the first start of a gateway or `signalbox store migrate` makes them"
        case .current(let number): "\(number), which this signalbox uses"
        case .unknown(let number, let known):
            "\(number), and this signalbox uses \(known): another version made it; run that one"
        }
    }
}
