import PluginRig
import SignalboxCore
import SignalboxThreads
import Testing

@testable import SignalboxPostgres

/// The connection: its binary values, its faults, its secrets.
@Suite struct LinkTests {
    private static var soon: UInt64 { SystemClock.monotonicNs + 60_000_000_000 }

    private func open(_ database: PostgresDatabase, usesNames: Bool = true) async throws
        -> PostgresLink
    {
        try PostgresLink(PostgresAddress(database.address), usesNames: usesNames)
    }

    @Test(arguments: [true, false])
    func `values go there and back in binary form`(usesNames: Bool) async throws {
        let database = try await PostgresServer.shared().database()
        let link = try await open(database, usesNames: usesNames)
        let statement = Statement(
            "echo",
            """
            SELECT $1::bigint, $2::bigint, $3::text, $4::bytea, n, t, b
            FROM unnest($5::bigint[], $6::text[], $7::bytea[]) AS x (n, t, b)
            """)
        for _ in 0..<2 {
            var values = Parameters()
            values.add(Int64.min)
            values.add(nil as Int64?)
            values.add("Grüße \u{1F600}")
            values.add([0, 255, 7] as [UInt8])
            values.add([-1, 1 << 40] as [Int64])
            values.add(["", "b"])
            values.add([[1], []] as [[UInt8]])
            let rows = try link.run(statement, values, byNs: Self.soon)
            #expect(rows.count == 2)
            #expect(rows.number(0, 0) == .min)
            #expect(rows.optional(0, 1) == nil)
            #expect(rows.text(0, 2) == "Grüße \u{1F600}")
            #expect(Array(rows.bytes(0, 3)) == [0, 255, 7])
            #expect((0..<2).map { rows.number($0, 4) } == [-1, 1 << 40])
            #expect((0..<2).map { rows.text($0, 5) } == ["", "b"])
            #expect((0..<2).map { Array(rows.bytes($0, 6)) } == [[1], []])
        }
        try await database.remove()
    }

    @Test func `empty lists are lists`() async throws {
        let database = try await PostgresServer.shared().database()
        let link = try await open(database)
        var values = Parameters()
        values.add([] as [Int64])
        let rows = try link.run(
            Statement("", "SELECT cardinality($1::bigint[])"), values, byNs: Self.soon)
        #expect(rows.number(0, 0) == 0)
        try await database.remove()
    }

    @Test func `many statements are sent at once and answered in order`() async throws {
        let database = try await PostgresServer.shared().database()
        let link = try await open(database)
        let echo = Statement("echo", "SELECT $1::bytea")
        for number in 0..<200 {
            var values = Parameters()
            values.add([UInt8](repeating: UInt8(number), count: 50_000))
            link.send(echo, values)
        }
        let rows = try link.finish(byNs: Self.soon)
        #expect(rows.count == 200)
        #expect(
            rows.enumerated().allSatisfy { number, row in
                row.bytes(0, 0).count == 50_000 && row.bytes(0, 0).first == UInt8(number)
            })
        try await database.remove()
    }

    @Test func `a refused statement is named, those after it are not run, the link lives`()
        async throws
    {
        let database = try await PostgresServer.shared().database()
        let link = try await open(database)
        link.send(Statement("one", "SELECT 1"))
        link.send(Statement("bad", "SELECT 1 / 0"))
        link.send(Statement("late", "CREATE TABLE late (id bigint)"))
        let fault = #expect(throws: PostgresFault.self) { try link.finish(byNs: Self.soon) }
        #expect(fault?.kind == .refused)
        #expect(fault?.sqlState == "22012")
        #expect(fault?.statement == 1)
        // `late` was not prepared, and is when it is sent again.
        _ = try link.run(Statement("late", "CREATE TABLE late (id bigint)"), byNs: Self.soon)
        try await database.remove()
    }

    @Test func `a connection that ends under a statement is lost`() async throws {
        let database = try await PostgresServer.shared().database()
        let link = try await open(database)
        try await database.disconnect()
        let fault = #expect(throws: PostgresFault.self) {
            try link.run(Statement("one", "SELECT 1"), byNs: Self.soon)
        }
        #expect(fault?.isAway == true)
        #expect(!link.isAlive)
        try await database.remove()
    }

    @Test func `an answer that does not come in time is a fault of its own`() async throws {
        let database = try await PostgresServer.shared().database()
        let link = try await open(database)
        let fault = #expect(throws: PostgresFault.self) {
            try link.run(
                Statement("slow", "SELECT pg_sleep(600)"),
                byNs: SystemClock.monotonicNs + 50_000_000)
        }
        #expect(fault?.kind == .timedOut)
        try await database.remove()
    }

    @Test(arguments: [
        ("postgres//u:geheim@h/d", "must begin with postgres://"),
        ("host=h password=geheim", "must begin with postgres://"),
        ("mysql://u:geheim@h/d", "must begin with postgres://"),
        ("postgres://u:geh%geim@h/d", "cannot be read"),
        ("postgres://u:geheim@h/d?colour=geh", "cannot be read"),
        // The rest of the password would be the host, or the port and the database.
        ("postgres://u:ge@heim@h/d", "write @ as %40"),
        ("postgres://u:ge/heim@h/d", "/ as %2F"),
        ("postgres://u:geheim@h/d?sslmode=nonsense", "unknown sslmode; known: disable, allow"),
        ("postgres://u:geheim@h/d?connect_timeout=soon", "a whole number as connect_timeout"),
        ("postgres://u:geheim@h:224320/d", "from 1 to 65535"),
        ("postgres://u:geheim@/d?host=a,b&port=1,2,3", "3 ports for 2 hosts"),
    ])
    func `a wrong address is not repeated`(text: String, words: String) {
        let error = #expect(throws: PostgresAddressError.self) { try PostgresAddress(text) }
        #expect(error?.description.contains(words) == true)
        #expect(error?.description.contains("geh") == false)
    }

    @Test(arguments: [
        "postgres://", "postgresql://u:ge%40he%2Fim@h1:5432,h2/d?sslmode=verify-full",
        "postgres://u@%2Frun%2Fpostgresql/d", "postgres://u:@h/d?password=ge@im&connect_timeout=2",
        "postgres:///d?host=a,b&port=1,2", "postgres://u@[::1]:5432/d?port=",
        "postgres://u:ge?im@h/d",
    ])
    func `an address that libpq understands is taken`(text: String) throws {
        #expect(!(try PostgresAddress(text).place.contains("im")))
    }

    @Test func `neither a place nor a fault holds the password`() throws {
        let address = try PostgresAddress("postgres://u:geheim@127.0.0.1:1/d")
        #expect(address.place == "127.0.0.1:1/d")
        let fault = #expect(throws: PostgresFault.self) { try PostgresLink(address) }
        #expect(fault?.message.isEmpty == false)
        #expect(fault?.message.contains("geheim") == false)
    }

    @Test(arguments: [
        ("FATAL: too many connections for role \"sb\"", "ALTER ROLE ... CONNECTION LIMIT"),
        ("FATAL: sorry, too many clients already", "raise max_connections"),
        ("FATAL: the database system is not yet accepting connections", "until it has started"),
        ("FATAL: the database system is in recovery mode", "until it has recovered"),
        ("FATAL: database \"sb\" is not currently accepting connections", "ALLOW_CONNECTIONS true"),
        ("FATAL: database \"sb\" does not exist", "check its name"),
        ("could not translate host name \"d\" to address", "check the address"),
        ("connection to server failed: Connection refused", "that the server runs"),
    ])
    func `advice fits the server's words`(words: String, advice: String) {
        let message = PostgresFault.unreachable(words).message
        #expect(message.hasPrefix("\(words); "))
        #expect(message.contains(advice), "\(message)")
    }

    @Test func `a failure is shown as its message`() {
        #expect("\(StoreFailure(message: "the disk broke"))" == "the disk broke")
    }

    @Test func `a value of a row is in no message`() async throws {
        let database = try await PostgresServer.shared().database()
        try await database.run(
            "CREATE TABLE u (token text PRIMARY KEY); INSERT INTO u VALUES ('geheim')")
        let link = try await open(database)
        let fault = #expect(throws: PostgresFault.self) {
            try link.run(Statement("", "INSERT INTO u VALUES ('geheim')"), byNs: Self.soon)
        }
        #expect(fault?.sqlState == "23505")
        #expect(fault?.message.contains("geheim") == false)
        try await database.remove()
    }
}
