import Testing

/// docs/limits.md: each row with the code that sets its figure.
///
/// If a figure moves or changes, this table tells which row to look at.
@Suite struct LimitTests {
    static let bounds: [(row: String, code: [String])] = [
        ("body of an inbound request", ["requestBodyBytesMax = 1 << 20"]),
        ("recipients that one event names", ["devicesPerEventMax = 10_000"]),
        (
            "devices of one event after its users were looked up", ["devicesPerEvent = 100_000"]
        ),
        (
            "devices of all events of a request, after its users were looked up",
            ["LargeEvents.devicesMax,"]
        ),
        (
            "devices of requests for users with more than 10,000, while they are stored",
            ["devicesMin = 10_000", "devicesMax = 200_000"]
        ),
        (
            "dead tokens in a row, per sender and app, or per origin that tokens name",
            ["inRowMax = 20"]
        ),
        (
            "tokens whose accepted pushes are remembered, by sender and app",
            ["slotsMax = 1 << 18"]
        ),
        (
            "a wait that a provider asks for",
            ["hintMsMax: UInt64 = 900_000", "(deadline - nowUnixMs) / 2"]
        ),
        ("pushes that wait in memory for a slow origin", ["parkedMax: Int { 128 }"]),
        ("events in one request", ["eventsPerRequestMax = 1_000"]),
        (
            "events in a batch of a source plugin",
            ["eventsPerRequestMax = 1_000", "sourceBatchBytesMax = 4 << 20"]
        ),
        ("undecided batches of a source plugin", ["batchesMax = 16"]),
        ("the answer to a batch of outcomes", ["patienceMs: UInt64 = 60_000"]),
        ("an APNs payload", ["bytesMax: 5120"]),
        ("an FCM payload", ["addedForApple = 256", "4096 - addedForApple"]),
        ("an HMS message", ["bytesMax: 4096 - frame"]),
        (
            "origin and context of a request",
            ["raw.origin.len <= 300, raw.context.len <= 256", "request.context.count <= 256"]
        ),
        ("requests at a time over the REST pool", ["runningMax = 32"]),
        ("idle connections of a REST pool", ["idle_max(multi.handle, 128)"]),
        ("a Web Push message", ["plainBytesMax = 4_096 - 86 - 1 - 16"]),
        (
            "a message for Telegram",
            ["unitsMax = (whole: 4_096, heading: 512)"]
        ),
        ("an Airship notification", ["addedByAirship = 512", "4096 - addedByAirship"]),
        ("a text from a template, or one that differs by recipient", ["bytesMax = 16 * 1024"]),
        ("deliveries waiting on disk, all senders", ["waitingMax = 10_000_000"]),
        ("deliveries in memory, per sender and app", ["InMemoryMax = 4_096"]),
        (
            "senders and apps with connections at a time",
            ["lanesMax = 4_096", "(ProcessRoom.descriptorsMax - 128) / 2"]
        ),
        (
            "senders and apps that `fleet`, `top` and the metrics of waiting deliveries list",
            ["lanesMax = 1_000"]
        ),
        (
            "a sender and app without work",
            ["usualMs: UInt64(3_600_000), manyMs: UInt64(10_000), many: 64"]
        ),
        ("outcomes not stored yet, per sender and app", ["stages.count - count >= countMax"]),
        ("deliveries per plugin call", ["batchMax = 512"]),
        ("jobs in one commit", ["groupMax = 4_096"]),
        ("apps whose devices one event goes to", ["appsMax = 100"]),
        ("the name of a user, app, platform or provider in an event", ["nameBytesMax = 256"]),
        ("the token of a recipient", ["tokenBytesMax = 4_096"]),
        ("an app that no sender handles", ["unknownAppMs: UInt64 { 600_000 }"]),
        ("jobs waiting for a worker thread", ["waitingMax: 10_000, watch"]),
        (
            "threads in the place of workers in slow calls into plugins",
            ["sparesMax = max(64, 4 * count)"]
        ),
        (
            "calls about events into an instance that take over 25 to 50 ms, at a time",
            ["periodMs: UInt64 = 25", "slowMax = 16"]
        ),
        (
            "a call of a worker into a plugin",
            ["longNs: UInt64 = 1_000_000_000", "workMs: UInt64 = 10_000"]
        ),
        ("`create()`, `start()` and other `[control]` calls", ["controlMs: UInt64 = 30_000"]),
        (
            "`stop()` and `destroy()`",
            ["instances.stop(deadlineMs: 5_000)", "returnMs: UInt64 = 1_500"]
        ),
        (
            "events that wait to be tried alone after an isolated plugin crashed",
            ["threadsMax = 16"]
        ),
        ("a lease of a delivery", ["leaseMs: UInt64 = 120_000"]),
        ("a lease that cannot be extended", ["sinceMs + leaseMs / 2"]),
        ("a delivery of a paused route", ["asideMs: UInt64 = 600_000"]),
        ("pauses and holds that a sender and app remembers", ["countMax = 16"]),
        ("orders to cancel what waits", ["countMax = 100", "keptMs: UInt64 = 31 * 86_400_000"]),
        (
            "keys of accepted pushes and withdrawals that a sender and app remembers",
            ["countMax: Int = 32_768", "keepMs: UInt64 = 600_000"]
        ),
        ("memory of a seen event's key", ["dedupeMsMax: UInt64 = 7 * 86_400_000"]),
        ("keys of seen events in memory", ["recentMax = 65_536"]),
        (
            "history for `signalbox trace`",
            ["keepMs: UInt64 = 7 * 86_400_000, bytesMax: UInt64 = 1 << 30"]
        ),
        (
            "dead letters",
            ["keepMs: UInt64 = 14 * 86_400_000, countMax: Int = 100_000"]
        ),
        ("users forgotten within 31 days", ["countMax = 100_000"]),
        ("events in `signalbox export`", ["eventsMax = 10_000"]),
        (
            "a search of `signalbox trace`",
            ["patienceNs: UInt64 = 8_000_000_000", "limitMax = 1_000"]
        ),
        ("ids in the answer to a webhook", ["idsMax = 100"]),
        ("users looked up in one turn", ["usersMax: Int { 512 }"]),
        ("log lines about skipped recipients, per event and route", ["reasonsMax = 8"]),
        ("free space kept on the disk", ["freeBytesMin: UInt64 = 32 << 20"]),
        ("a graceful shutdown", ["drainMs: UInt64 = 30_000"]),
        (
            "deliveries in flight of a sender that has just started",
            ["inFlightFirst = 32", "inFlightAfterOutage = 4"]
        ),
        ("consecutive failures", ["failuresMax = 10", "(failuresMax + 2) / 3"]),
        (
            "refusals of the credentials in a row, after an accepted push",
            ["if isTrusted, !breaker.isOpen { return }"]
        ),
        ("503s in a row on a connection", ["unavailableMax = 10"]),
        (
            "connections of a host that fail or are left",
            ["tokensMax = 20.0", "tokensPerSecond = 10.0"]
        ),
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
        (
            "data that a filter gives to a part of the recipients",
            ["filterDataBytesMax = (ofPart: 1 << 20, ofCall: 4 << 20)"]
        ),
        ("time that a filter may have pushes wait", ["filterWaitMsMax: UInt64 = 30 * 86_400_000"]),
        ("head of a request", ["maxHeaderListSize = 64 * 1_024", "maxHeaderFieldCount = 100"]),
        ("connections of clients", ["connections ?? 10_000, descriptors / 2)"]),
        ("connections with `devices.listen`", ["isApart ? most / 2 : most"]),
        ("requests per second of a client address", ["burstSeconds = 2.0", "clientRate = 0"]),
        ("requests per second for a source", ["sourceRate = 0"]),
        ("client addresses with a rate", ["TokenBuckets(countMax: 10_000)"]),
        ("connections to the admin listener", ["min(256, descriptors / 8)"]),
        ("open admin pages", ["readersMax = 16"]),
        (
            "figures that an admin page has not read",
            ["guard channel.isWritable else { return giveUp() }"]
        ),
        (
            "points of the admin page's plots",
            ["pointsMax = 360", "pointMs: UInt64 = 10_000"]
        ),
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
        (
            "REST calls waiting and running",
            ["restCallsMax = 256", "hostCallsMax: Self.restCallsMax / 2"]
        ),
        ("a device's token", ["tokenBytesMax = 4_096"]),
        ("attributes of a device", ["attributesMax = 16", "attributeBytesMax = 256"]),
        ("tokens of one kind per user", ["tokensMax = 20"]),
        ("tokens of all kinds per user of an app", ["devicesMax = 100"]),
        ("a badge counter", ["Int32.max"]),
        ("presence of a device", ["presenceSeconds: Int64 = 120", "10...86_400"]),
        ("authorization codes exchanged at once", ["exchangesMax = 16"]),
        ("authorization codes per second of one client address", ["codeRate = 10"]),
        ("opens in one request", ["opensMax = 100"]),
        ("opens of a push", ["lifeMs: UInt64 = 7 * 86_400_000"]),
        ("changes per second of one user (`devices.users`)", ["userRate = 20"]),
        ("users with a rate", ["buckets = Mutex(TokenBuckets(countMax: 10_000))"]),
        (
            "outcomes that a receiver has not taken",
            ["ageMs: UInt64 = 7 * 86_400_000", "countMax: UInt64 = 1_000_000"]
        ),
        ("outcomes in one request", ["countMax = 500", "bytesMax = 256 << 10"]),
        ("requests that are not full", ["paceMs: UInt64 = 1_000"]),
        ("outcomes in memory while the disk is full", ["unwrittenBytesMax = 16 << 20"]),
        ("a text in an outcome", ["textBytesMax = 1_024"]),
        ("ids of roles and of needed services in a descriptor", ["while out.count < 64"]),
        (
            "changes of devices in one request",
            ["changes.count + new.count <= limits.eventsPerRequestMax"]
        ),
        ("items rejected in one request", ["10_000 - rejects.count"]),
        (
            "a request written by a plugin",
            [
                "static let bytesMax = 1 << 20", "fieldBytesMax = 1 << 16",
                "headers <= 1_000 && segments <= 10_000", "(1...32).contains(bytes.count)",
            ]
        ),
        ("headers of an answer by HTTP/2", ["stream.headers.count < 64"]),
        (
            "lines that an instance logs in 10 s",
            ["linesMax = 1_000", "intervalMs: UInt64 = 10_000"]
        ),
        (
            "lines of a process's standard error in 10 s",
            ["lineBytesMax = 1_000", "linesMax = 100"]
        ),
        ("`reason` of an outcome", ["reasonBytesMax = 128"]),
        ("`detail` and `provider_id` of an outcome", ["detailBytesMax = 1_024"]),
        ("the outcome of a delivery that `submit()` took", ["outcomeMs: UInt64 = 60_000"]),
        ("a message in `sbx_error`", ["message.utf8.prefix(243)"]),
        ("a log line", ["private static let bytesMax = 4096"]),
        ("the name of a metric", ["name.utf8.count <= 100"]),
        ("timers of an instance", ["timersMax = 1_000"]),
        ("a key in `sbx.kv/1`", ["keyBytesMax = 512"]),
        ("a value in `sbx.kv/1`", ["valueBytesMax = 64 * 1024"]),
        ("keys in one call of `list()` in `sbx.kv/1`", ["pageMax: UInt32 = 256"]),
        ("levels of JSON in `sbx.json/1`", ["depthMax = 64"]),
        ("random bytes in one call of `sbx.crypto/1`", ["randomBytesMax = 64 * 1024"]),
        ("the answer to a call of `sbx.http/1`", ["answerBytesMax = 1 << 20"]),
        (
            "conversations of Zendesk messaging with known users",
            ["conversationsMax = 10_000", "keptMs: UInt64 = 10 * 60_000"]
        ),
        ("members fetched for one Sendbird message", ["membersMax = 2_000", "pagesMax = 20"]),
        ("Sendbird preferences fetched at once", ["callsMax = 16"]),
        ("text that a regular expression sees", ["bytesMax = 4096"]),
        ("a regular expression", ["patternBytesMax = 512", "memoryMax: Int64 = 2 << 20"]),
        ("log lines that wait for their reader", ["bytesMax = 4 << 20"]),
        ("series of a metric", ["seriesMax: Int { 10_000 }"]),
        ("metric series of plugins", ["seriesMax = 20_000", "seriesMax = 1_000"]),
        (
            "open files of a plugin's process",
            ["filesMax: UInt64 = 4_096", "sandboxFilesMax: UInt64 = 256"]
        ),
        ("memory of a plugin's process", ["memoryMax: UInt64 = 2 << 30"]),
        ("threads of a sandbox", ["threadsMax: UInt64 = 1_024"]),
        ("configuration file, secret file", ["fileBytesMax = 1 << 20"]),
    ]

    /// Rows of the page, each with its header and the words there.
    static let headers: [(row: String, header: String, words: String)] = [
        ("body of an inbound request", "role/ingest", "at most 1 MiB"),
        ("recipients that one event names", "role/ingest", "10,000 recipients"),
        ("events in one request", "role/ingest", "at most 1,000 events"),
        ("changes of devices in one request", "role/ingest", "At most 1,000"),
        ("items rejected in one request", "role/ingest", "More than 10,000"),
        ("memory of a seen event's key", "model", "More than 7 days"),
        ("a device's token", "model", "at most 4,096 bytes"),
        ("attributes of a device", "model", "at most 16 of 256 bytes"),
        ("`reason` of an outcome", "model", "at most 128 bytes"),
        ("`detail` and `provider_id` of an outcome", "model", "at most 1 KiB"),
        ("ids of roles and of needed services in a descriptor", "plugin", "at most 64"),
        ("deliveries per plugin call", "role/send_http", "never over 512"),
        ("deliveries per plugin call", "role/send", "never over 512"),
        ("deliveries per plugin call", "role/register", "never over 512"),
        ("a request written by a plugin", "role/http", "At most 1 MiB in all"),
        ("a request written by a plugin", "role/http", "1,000 headers and 10,000 segments"),
        ("a push request, from sending to answer", "role/http", "/* default 10,000"),
        ("a provider's answer", "role/http", "at most 1 MiB of body"),
        ("headers of an answer by HTTP/2", "role/http", "64 headers"),
        ("origin and context of a request", "role/http", "At most 300 bytes"),
        ("origin and context of a request", "role/http", "at most 256 bytes that come back"),
        ("requests at a time over the REST pool", "role/http", "requests at a time, default 32"),
        ("the outcome of a delivery that `submit()` took", "role/send", "60 s after it was taken"),
        (
            "events in a batch of a source plugin", "role/source",
            "over 1,000 events or 4 MiB of data"
        ),
        (
            "data that a filter gives to a part of the recipients", "role/filter",
            "At most 1 MiB, and 4 MiB in one call"
        ),
        ("time that a filter may have pushes wait", "role/filter", "At most 30 days after"),
        ("undecided batches of a source plugin", "role/source", "batches, 16 today"),
        ("the answer to a batch of outcomes", "role/observe", "Without an answer for 60 s"),
        ("a message in `sbx_error`", "types", "message[244]"),
        ("a log line", "service/log", "Cut at 4 KiB"),
        ("the name of a metric", "service/metrics", "over 100 bytes"),
        ("metric series of plugins", "service/metrics", "1,000 series of this instance or 20,000"),
        ("timers of an instance", "service/timer", "over 1,000 timers"),
        ("a key in `sbx.kv/1`", "service/kv", "512 bytes"),
        ("a value in `sbx.kv/1`", "service/kv", "64 KiB"),
        ("keys in one call of `list()` in `sbx.kv/1`", "service/kv", "over 256"),
        ("levels of JSON in `sbx.json/1`", "service/json", "at most 64"),
        ("a REST call", "service/http", "0: 10,000"),
        ("random bytes in one call of `sbx.crypto/1`", "service/crypto", "at most 64 KiB"),
        ("the answer to a call of `sbx.http/1`", "service/http", "over 1 MiB"),
        ("REST calls waiting and running", "service/http", "256 calls"),
        (
            "lines that an instance logs in 10 s", "service/log",
            "of more than 1,000 lines in ten seconds"
        ),
    ]

    @Test func `every limit that binds a plugin is in the header that it binds`() throws {
        func plain(_ text: String) -> String {
            text.replacing(/\s*\n \* +|\s*\n +\* +|\s+/, with: " ")
        }
        let page = try Repository.text("docs/limits.md")
        for (row, header, words) in Self.headers {
            let text = plain(try Repository.text("include/signalbox/\(header).h"))
            #expect(text.contains(words), "\(header).h does not say \"\(words)\" for \(row)")
            #expect(page.contains("| \(row) |"), "docs/limits.md has no row \"\(row)\"")
        }
        let own = try #require(page.split(separator: "## What a plugin may do").last)
            .prefix { $0 != "#" }.split(separator: "\n")
            .filter { $0.hasPrefix("| ") && !$0.hasPrefix("| what") && !$0.hasPrefix("| ---") }
            .map { $0.dropFirst(2).prefix { $0 != "|" }.dropLast() }.map(String.init)
        #expect(Set(own).isSubset(of: Set(Self.headers.map(\.row))))
        #expect(own.count == 19)
    }

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
