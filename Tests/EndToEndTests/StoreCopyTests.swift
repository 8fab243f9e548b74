import Foundation
import GRDB
import PluginRig
import SignalboxCore
import SignalboxHTTP
import SignalboxPostgres
import SignalboxSimulators
import SignalboxStore
import Testing

/// `signalbox store`, on real databases.
@Suite struct StoreCopyTests {
    private static let lane = LaneKey(sender: "apns", app: "com.example.app")

    // MARK: What a store holds

    private static func device(_ number: Int) -> Device {
        Device(
            app: lane.app, platform: "ios", provider: "apns", token: "t\(number)",
            sourceToken: "<t\(number)>", user: "u'\"\\\(number / 2)", locale: "de-AT",
            registeredUnixMs: UInt64(1_000 + number),
            attributes: number % 3 == 0 ? [Attribute("muted", "all")] : [])
    }

    private static func delivery(_ number: Int, due: UInt64 = 0) -> StoredDelivery {
        var note = PushNotification()
        note.title = "Title \(number)"
        note.priority = number % 5 == 0 ? .high : nil
        note.overrides = [PayloadOverride(family: "apns", json: #"{"a":1}"#)]
        let delivery = Delivery(
            id: UInt64(number), eventID: 77, source: "z", subject: "ticket/5", route: "replies",
            sender: lane.sender, stableID: "stable-\(number)", attempt: due > 0 ? 3 : 1,
            freeAttempts: due > 0 ? 1 : 0, badge: 4, deadlineUnixMs: 99_000,
            content: SharedNotification(
                note, eventType: "ticket.replied", eventKey: "k\(number)", receivedUnixMs: 5_000),
            device: device(number))
        return StoredDelivery(
            delivery, receivedUnixMs: 5_000, attempts: due > 0 ? attempts : [], dueUnixMs: due)
    }

    private static let attempts = [
        Attempt(number: 1, unixMs: 6_000, reason: "unreachable", code: 0, detail: "no \"answer\""),
        Attempt(number: 2, unixMs: 7_000, reason: "server", code: 503, detail: ""),
    ]

    /// Enough of each kind for several pages.
    private static func records() -> [StoredRecord] {
        var out: [StoredRecord] = [
            .numbers(
                StoredNumbers(
                    seed: (.max, 7), lastID: 1_000_000, lastReport: 40, nextOutcome: 100))
        ]
        for number in 1...5_000 {
            out.append(
                .device(
                    StoredDevice(
                        device(number), onlineUntilUnixMs: number % 7 == 0 ? 9_000_000_000_000 : 0,
                        number: UInt64(number))))
            out.append(
                .seen(
                    SeenKey(high: UInt64(number) << 48, low: UInt64(number)),
                    untilUnixMs: 9_000_000_000_000))
            out.append(.delivery(delivery(number)))
        }
        for number in 1...700 {
            out.append(.badge(UserKey(app: lane.app, user: "u'\"\\\(number)"), Int32(number)))
            out.append(
                .value(
                    instance: "crm", key: "k\(number)", bytes: [0, UInt8(number % 256)],
                    untilUnixMs: number % 2 == 0 ? nil : 9_000_000_000_000))
            out.append(.delivery(delivery(10_000 + number, due: UInt64(50_000 + number))))
            var dead = delivery(20_000 + number)
            dead.attempts = attempts
            dead.death = .init("rejected", unixMs: 8_000, isDamaged: false)
            out.append(.delivery(dead))
        }
        for number in 30...35 {
            let change = DeviceChange(
                kind: .unproven, device: device(number), timeUnixMs: 5_000, reason: "why",
                subject: "ticket/1")
            out.append(
                .report(
                    OutboxEntry(
                        id: UInt64(number),
                        report: DeviceReport(to: "desk", change, eventID: 9, isDeduped: true))))
        }
        out.append(.receiver("crm", next: 60))
        for first in stride(from: UInt64(60), to: 100, by: 2) {
            out.append(
                .outcomes(
                    OutcomeRow(first: first, count: 2, bytes: [1, 2, UInt8(first)]), unixMs: 8_500))
        }
        return out
    }

    /// A data folder with all that.
    private static func folder() throws -> String {
        let folder = Workshop.place().path
        let contents = try SQLiteContents(folder: folder, .target)
        let mark = CopyMark(source: "test")
        try contents.write([], mark: mark, replacing: contents.mark())
        try contents.write(records(), mark: nil, replacing: mark)
        contents.close()
        return folder
    }

    /// Every record as a text, in an order that no engine changes.
    private static func all(_ contents: any StoreContents) throws -> [StoredKind: [String]] {
        var out: [StoredKind: [String]] = [:]
        for kind in StoredKind.allCases {
            var after = ""
            while true {
                let page = try contents.page(kind, after: after)
                #expect(page.damaged == 0)
                out[kind, default: []] += page.records.map(text)
                after = page.end
                if page.isLast { break }
            }
            out[kind]?.sort()
        }
        contents.close()
        return out
    }

    private static func text(_ record: StoredRecord) -> String {
        switch record {
        // A database gives out ids in ranges, so the last one may be higher.
        case .numbers(let numbers):
            return "\(numbers.seed) \(numbers.lastReport) \(numbers.nextOutcome)"
        case .delivery(let stored):
            let delivery = stored.delivery
            return """
                \(delivery.id) \(delivery.kind) \(delivery.eventID) \(delivery.source) \
                \(delivery.subject) \(delivery.route) \(delivery.sender) \(delivery.stableID) \
                \(delivery.attempt) \(delivery.freeAttempts) \(String(describing: delivery.badge)) \
                \(delivery.deadlineUnixMs) \(delivery.content.notification) \
                \(delivery.content.eventType) \(delivery.content.eventKey) \
                \(delivery.content.receivedUnixMs) \(delivery.device) \(stored.receivedUnixMs) \
                \(stored.attempts) \(stored.dueUnixMs) \(String(describing: stored.death))
                """
        default: return "\(record)"
        }
    }

    // MARK: The program

    /// A gateway.yaml for the gateway `one`.
    private static func file(_ store: String, _ simulators: Simulators) throws -> String {
        let yaml = GatewayRig.yaml(simulators)
        return try ProgramTests.temporary(
            "gateway.yaml",
            yaml.replacing("gateway: { ", with: "gateway: { name: one, \(store), "))
    }

    /// Starts a copy again and again, and kills it when it has copied some; says how often.
    private static func copyWithKills(_ from: String, _ to: String) async throws -> Int {
        var kills = 0
        while true {
            let (process, pipe) = try ProgramTests.start([
                "store", "copy", "--from", from, "--to", to,
            ])
            var said = ""
            var isKilled = false
            while true {
                let text = try await Tool.next(pipe)
                guard !text.isEmpty else { break }
                said += text
                // After the last kind it may have ended by itself.
                if !isKilled, said.contains("copied "), !said.contains("copied 40 outcomes") {
                    isKilled = true
                    kill(process.processIdentifier, SIGKILL)
                }
            }
            let status = try await Tool.end(process)
            if status == 0 {
                #expect(said.contains("both stores have the same counts"), "\(said)")
                return kills
            }
            try #require(status == -SIGKILL, "\(status): \(said)")
            kills += 1
            try #require(kills < 100)
        }
    }

    @Test func `a store is copied to PostgreSQL and back, although the copies are killed`()
        async throws
    {
        let server = try await PostgresServer.shared()
        let first = try Self.folder()
        let original = try Self.all(SQLiteContents(folder: first, .source))
        #expect(original[.waiting]?.count == 5_700)
        #expect(original[.outcomes]?.count == 20)
        // On a busy machine a copy may be done before this reads that it has begun. Then it is done again.
        var (database, killed) = (try await server.database(), 0)
        while killed == 0 {
            database = try await server.database()
            killed = try await Self.copyWithKills(first, database.address)
        }
        let address = try PostgresAddress(database.address)
        let there = try Self.all(PostgresContents(address, .source))
        var (second, killedBack) = ("", 0)
        while killedBack == 0 {
            second = Workshop.place().path
            killedBack = try await Self.copyWithKills(database.address, second)
        }
        let back = try Self.all(SQLiteContents(folder: second, .source))
        for kind in StoredKind.allCases {
            #expect(there[kind] == original[kind], "\(kind) in PostgreSQL")
            #expect(back[kind] == original[kind], "\(kind) back in SQLite")
        }
        print("store copy test: killed \(killed) and \(killedBack) times")
        func copy(_ from: String, _ to: String) async throws -> Tool.Ended {
            try await ProgramTests.run(["store", "copy", "--from", from, "--to", to])
        }
        let again = try await copy(first, database.address)
        #expect(again.status == 0)
        #expect(again.text.contains("an earlier copy was finished: both"), "\(again.text)")
        let other = try await copy(first, second)
        #expect(other.status == 1)
        #expect(other.text.contains("\(second) is not empty: 5000 devices"), "\(other.text)")
        try await database.run("DELETE FROM signalbox.badge WHERE number = 1")
        let used = try await copy(first, database.address)
        #expect(used.status == 1)
        #expect(
            used.text.contains("which has been used since: it has 699 of 700 badge counters"),
            "\(used.text)")
        try await database.remove()
    }

    @Test func `a gateway on the copy sends what waited, once, and forgets dead tokens`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        let client = try RESTClient()
        let folder = Workshop.place().path
        let before = try Self.file("data: \"\(folder)\"", simulators)
        let after = try Self.file("store: { postgres: \"\(database.address)\" }", simulators)
        let one = try await CrashTests.start(before)
        try await simulators.apns.take(.stall(count: 100_000))
        let tokens = (0..<40).map { "t\($0)" }
        for token in tokens {
            let answer = try await client.post([("ios", token)], ticket: token, to: one.port)
            #expect(answer.status == 200)
        }
        let inUse = try await ProgramTests.run(["store", "copy", "--from", before, "--to", after])
        #expect(inUse.status == 75, "\(inUse.text)")
        #expect(inUse.text.contains("a gateway uses the data folder \(folder)"), "\(inUse.text)")
        let running = try await ProgramTests.run(["store", "status", before])
        #expect(running.text.contains("a gateway: runs"), "\(running.text)")
        #expect(running.text.contains("  40 for apns"), "\(running.text)")
        try await one.kill()
        // The registry knows the device of one token, whose app is gone.
        let store = try DatabaseQueue(path: "\(folder)/signalbox.sqlite")
        try await store.write { db in
            try db.execute(
                sql: """
                    INSERT INTO device (app, token, kind, platform, provider, source_token, user_id,
                      locale, registered, online, attributes)
                    VALUES ('', 't7', 'ios', 'ios', '', '', 'ada', '', 1, 0, '')
                    """)
        }
        try store.close()
        let copied = try await ProgramTests.run(["store", "copy", "--from", before, "--to", after])
        #expect(copied.status == 0, "\(copied.text)")
        #expect(copied.text.contains("40 waiting deliveries"), "\(copied.text)")
        try await simulators.apns.take(.clear)
        try await simulators.apns.take(
            .fail(tokens: ["t7"], status: 410, reason: "Unregistered", times: nil))
        let two = try await CrashTests.start(after)
        func answered() -> [String] {
            simulators.apns.received.filter { $0.status >= 200 }.map(\.token)
        }
        try await until { Set(answered()).count >= 40 }
        var devices = ""
        for _ in 0..<2_000 where devices != "0" {
            devices = try await database.run("SELECT count(*) FROM signalbox.device")
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        #expect(devices == "0")
        try await two.end()
        #expect(answered().sorted() == tokens.sorted())
        // Each token's pushes have one id, before the copy and after it.
        for (token, all) in Dictionary(grouping: simulators.apns.received, by: \.token) {
            #expect(Set(all.compactMap { $0.header("apns-id") }).count == 1, "\(token)")
        }
        client.shutdown()
        await simulators.shutdown()
        try await database.remove()
    }

    // MARK: Wrong uses

    @Test func `a gateway does not start on half of a store, and only its own copy continues`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let folder = Workshop.place().path
        let mark = CopyMark(source: "somewhere", kind: .waiting, after: "", damaged: 0)
        let half = try SQLiteContents(folder: folder, .target)
        try half.write([], mark: mark, replacing: half.mark())
        half.close()
        let other = try PostgresContents(PostgresAddress(database.address), .target)
        try other.write([], mark: mark, replacing: other.mark())
        other.close()
        let simulators = try await Simulators.start(SimulatorsOptions())
        for (store, place) in [
            ("data: \"\(folder)\"", folder), ("store: { postgres: \"\(database.address)\" }", "/"),
        ] {
            let file = try Self.file(store, simulators)
            for command in ["run", "check"] {
                let started = try await ProgramTests.run([command, "--config", file])
                #expect(started.status == 78, "\(started.text)")
                #expect(started.text.contains("was not finished"), "\(started.text)")
                #expect(started.text.contains("store-unfinished"), "\(started.text)")
            }
            let status = try await ProgramTests.run(["store", "status", file])
            #expect(status.text.contains("a copy into it was not finished"), "\(status.text)")
            #expect(status.text.contains(place))
            let copied = try await ProgramTests.run([
                "store", "copy", "--from", try Self.folder(), "--to", file,
            ])
            #expect(copied.status == 1)
            #expect(copied.text.contains("unfinished copy of another store"), "\(copied.text)")
            let passedOn = try await ProgramTests.run([
                "store", "copy", "--from", file, "--to", Workshop.place().path,
            ])
            #expect(passedOn.status == 1)
            #expect(passedOn.text.contains("was not finished"), "\(passedOn.text)")
        }
        await simulators.shutdown()
        try await database.remove()
    }

    @Test func `wrong uses name the store, the fault and the fix`() async throws {
        let database = try await PostgresServer.shared().database()
        let empty = Workshop.place().path
        let nowhere = database.address.replacing(database.name, with: "nowhere")
        let noServer = "postgres://ada:secret-word@127.0.0.1:1/db"
        let noTable = try ProgramTests.temporary("signalbox.sqlite", "no database, but a text file")
        let texts = URL(filePath: noTable).deletingLastPathComponent().path
        let cases: [(arguments: [String], status: Int32, words: String)] = [
            (["store", "status", empty], 1, "no store at \(empty)"),
            (["store", "copy", "--from", empty, "--to", "x"], 1, "give the gateway's data folder"),
            (
                ["store", "copy", "--from", database.address, "--to", empty], 1,
                "it has no tables in the schema signalbox"
            ),
            (["store", "status", nowhere], 75, "database \"nowhere\" does not exist"),
            (["store", "status", noServer], 75, "127.0.0.1:1/db cannot be reached"),
            (["store", "status", "postgres://%"], 1, "the address of the database cannot be read"),
            (["store", "status", texts], 1, "is damaged"),
            (["store", "status", ""], 1, "STORE is empty; give a data folder"),
            (["store", "status", "postgres//db"], 1, "STORE looks like an address"),
            (["store", "status", "host=h password=secret-word"], 1, "begin with postgres://"),
            (
                ["store", "status", "mysql://ada:secret-word@127.0.0.1/db"], 1,
                "STORE begins with mysql://, which is unknown; give a data folder"
            ),
            (
                ["store", "copy", "--from", empty, "--to", "postgers://a:secret-word@h/d"], 1,
                "--to begins with postgers://"
            ),
            (
                ["store", "status", "postgres://ada:my@secret-word@127.0.0.1/db"], 1,
                "write @ as %40"
            ),
            (["store", "status", "missing.yaml"], 78, "there is no such file"),
            (
                ["store", "copy", "--from", empty, "--to", empty], 1,
                "cannot be copied to itself"
            ),
        ]
        for (arguments, status, words) in cases {
            let ended = try await ProgramTests.run(arguments)
            #expect(ended.status == status, "\(arguments): \(ended.text)")
            #expect(ended.text.contains(words), "\(arguments): \(ended.text)")
            #expect(!ended.text.contains("secret-word"))
        }
        #expect(!FileManager.default.fileExists(atPath: empty))
        try await database.remove()
    }

    @Test func `status and migrate say what there is and what they did`() async throws {
        let database = try await PostgresServer.shared().database()
        func run(_ verb: String, _ rest: String...) async throws -> String {
            let ended = try await ProgramTests.run(["store", verb, database.address] + rest)
            #expect(ended.status == 0, "\(ended.text)")
            return ended.text
        }
        #expect(try await run("status").contains("no tables; the first start"))
        #expect(try await run("migrate").contains("the tables were made"))
        #expect(try await run("migrate").contains("the tables are up to date"))
        let json = try await run("status", "--json")
        #expect(json.contains(#""schema":"current""#), "\(json)")
        #expect(json.contains(#""waiting":0"#), "\(json)")
        #expect(json.contains(#""schema_number":1"#), "\(json)")
        #expect(try await run("status").contains("schema: 1, which this signalbox uses"))
        try await database.run("UPDATE signalbox.meta SET value = 9 WHERE name = 'schema'")
        #expect(try await run("status").contains("schema: 9, and this signalbox uses 1"))
        let newer = try await ProgramTests.run(["store", "migrate", database.address])
        #expect(newer.status == 1)
        #expect(newer.text.contains("run that version"), "\(newer.text)")
        try await database.remove()
    }

    @Test func `a database that a gateway uses is not copied`() async throws {
        let database = try await PostgresServer.shared().database()
        let simulators = try await Simulators.start(SimulatorsOptions())
        let one = try await CrashTests.start(
            Self.file("store: { postgres: \"\(database.address)\" }", simulators))
        for arguments in [
            ["--from", database.address, "--to", Workshop.place().path],
            ["--from", try Self.folder(), "--to", database.address],
        ] {
            let ended = try await ProgramTests.run(["store", "copy"] + arguments)
            #expect(ended.status == 75, "\(ended.text)")
            #expect(ended.text.contains("the gateway one uses the database"), "\(ended.text)")
        }
        try await one.end()
        await simulators.shutdown()
        try await database.remove()
    }
}
