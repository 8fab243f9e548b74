import Testing

/// docs/limits.md: each row with the code that sets its figure.
///
/// If a figure moves or changes, this table tells which row to look at.
@Suite struct LimitTests {
    static let bounds: [(row: String, code: [String])] = [
        ("body of an inbound request", ["requestBodyBytesMax = 1 << 20"]),
        ("devices in one event", ["devicesPerEventMax = 10_000"]),
        ("events in one request", ["eventsPerRequestMax = 1_000"]),
        ("an APNs payload", ["bytesMax: 5120"]),
        ("an FCM payload", ["addedForApple = 256", "4096 - addedForApple"]),
        ("a text from a template, or one that differs by recipient", ["bytesMax = 16 * 1024"]),
        ("deliveries waiting on disk, all senders", ["waitingMax = 10_000_000"]),
        ("deliveries in memory, per sender and app", ["InMemoryMax = 4_096"]),
        ("outcomes not stored yet, per sender and app", ["stages.count - count >= countMax"]),
        ("deliveries per plugin call", ["batchMax = 512"]),
        ("jobs in one commit", ["groupMax = 4_096"]),
        ("jobs waiting for a worker thread", ["waitingMax: 10_000)"]),
        ("a lease of a delivery", ["leaseMs: UInt64 = 120_000"]),
        ("a lease that cannot be extended", ["sinceMs + leaseMs / 2"]),
        ("withdrawals that a sender remembers", ["countMax: Int = 4_096"]),
        ("memory of a seen event's key", ["dedupeMsMax: UInt64 = 7 * 86_400_000"]),
        ("keys of seen events in memory", ["recentMax = 65_536"]),
        ("users looked up in one turn", ["turnMax = 512"]),
        ("log lines about skipped recipients, per event and route", ["linesMax = 20"]),
        ("free space kept on the disk", ["freeBytesMin: UInt64 = 32 << 20"]),
        ("a graceful shutdown", ["drainMs: UInt64 = 30_000"]),
        (
            "deliveries in flight of a sender that has just started",
            ["inFlightFirst = 32", "inFlightAfterOutage = 4"]
        ),
        ("consecutive failures", ["failuresMax = 10", "(failuresMax + 2) / 3"]),
        ("pause between probes of a held sender", ["? 900_000 : 30_000"]),
        (
            "wait of a delivery whose attempt does not count",
            ["initialMs: 1_000, factor: 2, maxMs: 300_000"]
        ),
        (
            "attempts on record that do not count",
            ["DELETE FROM attempt WHERE delivery = ?1 AND number = ?2 - 1 AND reason = ?3"]
        ),
        (
            "a report to a source's system",
            ["maxMs: 600_000, retries: 1_000", "expiresMs: UInt64 = 7 * 86_400_000"]
        ),
        ("head of a request", ["maxHeaderListSize = 64 * 1_024", "maxHeaderFieldCount = 100"]),
        ("connections of clients", ["min(10_000, descriptors / 2)"]),
        ("connections to the admin listener", ["min(256, descriptors / 8)"]),
        ("bodies without an answer, per listener", ["bodiesBytesMax = 128 << 20"]),
        ("a connection without a complete head", ["idleSeconds = 60"]),
        ("a request, from its head to its end", ["requestSeconds = 30"]),
        ("pipelined requests ahead of their answers", ["readBytesMax = 16 * 1_024"]),
        ("answers that a client does not read", ["bufferBytesMax = 64 * 1_024"]),
        ("a push request, from sending to answer", ["requestTimeoutMs = 10_000"]),
        (
            "a push request waiting to be sent",
            ["waitFactor: UInt64 = 6", "waitMaxNs: UInt64 = 60_000_000_000"]
        ),
        ("requests in flight on a connection", ["spareShare = 64", "took > timeoutNs / 2"]),
        ("consecutive timeouts on a connection", ["silentMax = 3"]),
        (
            "waits between failed connects of a sender and app",
            ["firstNs: UInt64 = 100_000_000", "maxNs: UInt64 = 10_000_000_000"]
        ),
        (
            "connects to one host after a failure, all senders",
            ["tokensMax = 20", "tokensPerSecond = 10.0"]
        ),
        ("a provider's answer", ["bodyBytesMax = 1 << 20"]),
        ("a REST call", ["timeoutMs: UInt32 = 10_000"]),
        ("REST calls waiting and running", ["callsMax: Int = 256"]),
        ("a device's token", ["tokenBytesMax = 4_096"]),
        ("attributes of a device", ["attributesMax = 16", "attributeBytesMax = 256"]),
        ("tokens of one kind per user", ["tokensMax = 20"]),
        ("a badge counter", ["Int32.max"]),
        ("presence of a device", ["presenceSeconds: Int64 = 120", "10...86_400"]),
        ("authorization codes exchanged at once", ["exchangesMax = 16"]),
        ("opens in one request", ["opensMax = 100"]),
        (
            "outcomes that a receiver has not taken",
            ["ageMs: UInt64 = 7 * 86_400_000", "countMax: UInt64 = 1_000_000"]
        ),
        ("outcomes in one request", ["countMax = 500", "bytesMax = 256 << 10"]),
        ("requests that are not full", ["paceMs: UInt64 = 1_000"]),
        ("outcomes in memory while the disk is full", ["unwrittenBytesMax = 16 << 20"]),
        ("a text in an outcome", ["textBytesMax = 1_024"]),
        (
            "conversations of Zendesk messaging with known users",
            ["conversationsMax = 10_000", "keptMs: UInt64 = 10 * 60_000"]
        ),
        ("members fetched for one Sendbird message", ["membersMax = 2_000", "pagesMax = 20"]),
        ("Sendbird preferences fetched at once", ["callsMax = 16"]),
        ("text that a regular expression sees", ["bytesMax = 4096"]),
        ("a regular expression", ["patternBytesMax = 512", "memoryMax: Int64 = 2 << 20"]),
        ("metric series", ["seriesMax = 20_000", "seriesMax = 1_000"]),
        ("configuration file, secret file", ["fileBytesMax = 1 << 20"]),
    ]

    @Test func `every limit on the page is the one in the code`() throws {
        var sources = ""
        for folder in ["Sources", "Plugins"] {
            for file in Repository.files(under: folder, endings: [".swift"]) {
                sources += try Repository.text(file)
            }
        }
        for (row, code) in Self.bounds {
            #expect(!code.isEmpty, "\"\(row)\" names no code")
            for figure in code {
                #expect(
                    sources.contains(figure),
                    "\"\(row)\": \(figure) is gone; compare docs/limits.md")
            }
        }
    }

    @Test func `every row of the page has its place in the code`() throws {
        let rows = try Repository.text("docs/limits.md").split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| what") && !$0.hasPrefix("| ---") }
            .map { $0.dropFirst(2).prefix { $0 != "|" }.dropLast() }.map(String.init)
        #expect(rows.sorted() == Self.bounds.map(\.row).sorted())
    }
}
