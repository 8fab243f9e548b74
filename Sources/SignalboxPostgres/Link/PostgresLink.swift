internal import CPostgres
internal import Glibc
internal import SignalboxThreads

/// A connection in pipeline mode: statements are sent without waiting for the answers to earlier ones.
///
/// Used by one thread at a time. After any fault but `refused`, a link is unusable.
final class PostgresLink {
    private enum Sent {
        case preparation(String)
        case statement
        case limits
    }

    private let connection: OpaquePointer
    private var isEnded = false
    /// False: statements have no names on the server, because a pooler hands each transaction to another connection.
    let usesNames: Bool
    private var prepared: Set<String> = []
    private var sent: [Sent] = []
    private var statementCount = 0
    /// Sent with each transaction, and with each statement outside of one. A pooler would keep settings of a session
    /// for its other clients.
    var limits: Statement?
    /// As far as `limits` need to know.
    private(set) var isInTransaction = false
    /// Called now and then while it waits.
    var pause: () -> Void = {}
    /// The first fault while sending.
    private var fault: PostgresFault?

    /// Connects; blocks for at most the time that the address gives each host.
    init(_ address: PostgresAddress, usesNames: Bool = true) throws(PostgresFault) {
        self.usesNames = usesNames
        let parameters = address.parameters
        let names = parameters.map { strdup($0.name) } + [nil]
        let values = parameters.map { strdup($0.value) } + [nil]
        defer { for text in names + values { free(text) } }
        let opened = names.map { UnsafePointer($0) }.withUnsafeBufferPointer { names in
            values.map { UnsafePointer($0) }.withUnsafeBufferPointer { values in
                PQconnectdbParams(names.baseAddress, values.baseAddress, 1)
            }
        }
        guard let opened else {
            throw PostgresFault(kind: .lost, message: "there is no memory for a connection")
        }
        guard PQstatus(opened) == CONNECTION_OK else {
            let words = Self.words(opened)
            PQfinish(opened)
            throw .unreachable(words)
        }
        connection = opened
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        PQsetnonblocking(connection, 1)
        PQenterPipelineMode(connection)
    }

    deinit { if !isEnded { PQfinish(connection) } }

    /// Ends the connection; nothing is called afterwards.
    func end() {
        guard !isEnded else { return }
        isEnded = true
        PQfinish(connection)
    }

    /// As the server says: 150000 for 15.0.
    var serverVersion: Int { Int(PQserverVersion(connection)) }

    /// The number of the server's process.
    var backend: Int32 { PQbackendPID(connection) }

    var isAlive: Bool { PQstatus(connection) == CONNECTION_OK }

    /// Whether the server has ended the connection while nothing was asked.
    func hasEnded() -> Bool {
        guard isAlive else { return true }
        var one = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&one, 1, 0) > 0 else { return false }
        // A server that closes the connection says why first; changed settings arrive unrequested, too.
        guard PQconsumeInput(connection) == 1, isAlive else { return true }
        guard PQisBusy(connection) == 0, let result = PQgetResult(connection) else {
            return Glibc.poll(&one, 1, 0) > 0 && PQconsumeInput(connection) != 1
        }
        PQclear(result)
        return true
    }

    /// The last message in one line.
    private static func words(_ connection: OpaquePointer) -> String {
        let text = String(cString: PQerrorMessage(connection))
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            line.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        }
        return lines.joined(separator: "; ")
    }

    // MARK: Sending

    /// Sends a statement; `finish` returns its rows. Returns its index among the statements of that `finish`.
    @discardableResult
    func send(_ statement: Statement, _ parameters: Parameters = Parameters()) -> Int {
        guard let limits else { return put(statement, parameters) }
        let isBegin = statement.sql.hasPrefix("BEGIN")
        let isEnd = ["COMMIT", "ROLLBACK"].contains(statement.sql)
        defer { isInTransaction = isBegin || isInTransaction && !isEnd }
        guard statementCount == 0, !isInTransaction, !isEnd else {
            return put(statement, parameters)
        }
        // Statements that are sent together are one transaction. What begins one may say of which kind.
        if !isBegin {
            put(Limits.isolation, as: .limits)
            put(limits, as: .limits)
        }
        defer { if isBegin { put(limits, as: .limits) } }
        return put(statement, parameters)
    }

    @discardableResult
    private func put(
        _ statement: Statement, _ parameters: Parameters = Parameters(), as kind: Sent = .statement
    ) -> Int {
        defer { if case .statement = kind { statementCount += 1 } }
        guard fault == nil else { return statementCount }
        let isNamed = usesNames && !statement.name.isEmpty
        if isNamed, prepared.insert(statement.name).inserted {
            let types = parameters.types
            guard
                PQsendPrepare(
                    connection, statement.name, statement.sql, Int32(types.count), types) == 1
            else {
                fail()
                return statementCount
            }
            sent.append(.preparation(statement.name))
        }
        if query(statement, parameters, isNamed) { sent.append(kind) } else { fail() }
        return statementCount
    }

    private func query(_ statement: Statement, _ parameters: Parameters, _ isNamed: Bool) -> Bool {
        parameters.bytes.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            // Something that is no NULL even if it is empty.
            let empty = UnsafePointer<CChar>(bitPattern: 1)
            let values = parameters.places.map { place in
                place.count < 0 ? nil : base.map { $0 + place.start } ?? empty
            }
            let counts = parameters.places.map { Int32(max(0, $0.count)) }
            let formats = [Int32](repeating: 1, count: values.count)
            let count = Int32(values.count)
            return isNamed
                ? PQsendQueryPrepared(
                    connection, statement.name, count, values, counts, formats, 1) == 1
                : PQsendQueryParams(
                    connection, statement.sql, count, parameters.types, values, counts, formats, 1)
                    == 1
        }
    }

    private func fail() {
        fault = PostgresFault(kind: .lost, message: Self.words(connection))
    }

    // MARK: Receiving

    /// Waits for the answers to all that was sent since the last call.
    func finish(byNs deadlineNs: UInt64) throws(PostgresFault) -> [Rows] {
        var all: [Rows] = []
        try finish(byNs: deadlineNs) { all.append($0) }
        return all
    }

    /// Hands over the answer to each statement, in their order, while the server works on the next ones.
    func finish(byNs deadlineNs: UInt64, _ read: (Rows) -> Void) throws(PostgresFault) {
        let expected = sent
        sent = []
        statementCount = 0
        if let fault { throw fault }
        guard PQpipelineSync(connection) == 1 else { throw lost() }
        var count = 0
        var refusal: PostgresFault?
        for part in expected {
            let result = try next(deadlineNs)
            guard let result else { throw lost() }
            let rows = Rows(result)
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK: break
            case PGRES_PIPELINE_ABORTED: forget(part)
            default:
                forget(part)
                guard isAlive else { throw lost() }
                if refusal == nil { refusal = Self.refusal(result, statement: count) }
            }
            // The end of this statement's results.
            if let more = try next(deadlineNs) { PQclear(more) }
            guard case .statement = part else { continue }
            count += 1
            if refusal == nil { read(rows) }
        }
        let end = try next(deadlineNs)
        guard let end, PQresultStatus(end) == PGRES_PIPELINE_SYNC else {
            PQclear(end)
            throw lost()
        }
        PQclear(end)
        if let refusal { throw refusal }
    }

    private func forget(_ part: Sent) {
        if case .preparation(let name) = part { prepared.remove(name) }
    }

    private func lost() -> PostgresFault {
        let fault = PostgresFault(
            kind: .lost, message: "the connection was lost: \(Self.words(connection))")
        self.fault = fault
        return fault
    }

    /// Only the primary message: details repeat values of rows.
    private static func refusal(_ result: OpaquePointer, statement: Int) -> PostgresFault {
        func field(_ code: Int32) -> String {
            PQresultErrorField(result, code).map { String(cString: $0) } ?? ""
        }
        return PostgresFault(
            kind: .refused, sqlState: field(67), message: field(77), statement: statement)
    }

    private func next(_ deadlineNs: UInt64) throws(PostgresFault) -> OpaquePointer? {
        while true {
            let flushed = PQflush(connection)
            if flushed < 0 { throw lost() }
            if PQisBusy(connection) == 0 { return PQgetResult(connection) }
            try wait(forWriting: flushed == 1, deadlineNs)
            guard PQconsumeInput(connection) == 1 else { throw lost() }
        }
    }

    private func wait(
        forWriting isWriting: Bool, _ deadlineNs: UInt64
    ) throws(PostgresFault) {
        while true {
            let now = SystemClock.monotonicNs
            guard now < deadlineNs else {
                let fault = PostgresFault(
                    kind: .timedOut, message: "the database did not answer in time")
                self.fault = fault
                throw fault
            }
            let leftMs = Int32(clamping: (deadlineNs - now) / 1_000_000 + 1)
            if try poll(forWriting: isWriting, forMs: min(leftMs, 100)) { return }
            pause()
        }
    }

    /// Whether the socket is ready before the time is over.
    private func poll(forWriting isWriting: Bool, forMs: Int32) throws(PostgresFault) -> Bool {
        var events = Int16(POLLIN)
        if isWriting { events |= Int16(POLLOUT) }
        var one = pollfd(fd: PQsocket(connection), events: events, revents: 0)
        guard one.fd >= 0 else { throw lost() }
        let count = Glibc.poll(&one, 1, forMs)
        guard count >= 0 || errno == EINTR else { throw lost() }
        return count > 0
    }

    // MARK: Notices of others

    /// Waits for notices of `LISTEN`; their texts, none if the time is over.
    func notices(forMs: Int32) throws(PostgresFault) -> [String] {
        if try poll(forWriting: false, forMs: forMs), PQconsumeInput(connection) != 1 {
            throw lost()
        }
        var out: [String] = []
        while let notice = PQnotifies(connection) {
            out.append(String(cString: notice.pointee.extra))
            PQfreemem(notice)
        }
        return out
    }
}

extension PostgresLink {
    /// Sends one statement and waits for its rows.
    func run(
        _ statement: Statement, _ parameters: Parameters = Parameters(), byNs deadlineNs: UInt64
    ) throws(PostgresFault) -> Rows {
        let place = send(statement, parameters)
        let all = try finish(byNs: deadlineNs)
        guard all.indices.contains(place) else {
            throw PostgresFault(kind: .lost, message: "the server gave no answer")
        }
        return all[place]
    }
}
