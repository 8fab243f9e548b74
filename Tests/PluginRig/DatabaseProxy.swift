import Foundation
import SignalboxThreads

/// Stands between a gateway and its database, and breaks what it is told to.
///
/// It listens on a port of this machine and passes everything to a server's Unix socket.
package final class DatabaseProxy: Sendable {
    /// What it does to connections.
    package enum Mode: Sendable, Equatable {
        case passing
        /// Takes bytes and passes none.
        case stalled
        /// Ends connections, and those that come.
        case cut
        /// Ends a connection whose client commits.
        case cutting(CommitCut)
    }

    /// Where a commit is cut.
    package enum CommitCut: CaseIterable, Sendable {
        /// The server never hears of it.
        case before
        /// The server gets it; nobody waits for what it makes of it.
        case during
        /// The server has done it, and its answer is lost.
        case after
    }

    private struct State {
        var mode = Mode.passing
        var open: Set<Int32> = []
        var cutCount = 0
        var questionCount = 0
    }

    package let port: Int
    private let listener: Int32
    private let target: String
    private let state = Gate(State())

    package init(to target: String) throws {
        self.target = target
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let (bound, heard, named) = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                (
                    bind(listener, $0, size), Foundation.listen(listener, 64),
                    getsockname(listener, $0, &size)
                )
            }
        }
        guard bound == 0, heard == 0, named == 0 else {
            throw PluginRig.Failure(description: "the proxy cannot listen")
        }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        SystemThread.start("proxy") { self.accept() }
    }

    /// For `gateway.store.postgres`.
    package func address(of database: PostgresDatabase) -> String {
        "postgres://signalbox@127.0.0.1:\(port)/\(database.name)"
    }

    /// How many connections it has ended under a commit.
    package var cutCount: Int { state.update { $0.cutCount } }

    /// How often clients have waited for answers.
    package var questionCount: Int { state.update { $0.questionCount } }

    package func set(_ mode: Mode) {
        state.updateAll { state in
            state.mode = mode
            if mode == .cut { state.open.forEach { shutdown($0, Int32(SHUT_RDWR)) } }
        }
    }

    /// Ends everything.
    package func close() {
        set(.cut)
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private func accept() {
        while true {
            let client = Foundation.accept(listener, nil, nil)
            guard client >= 0 else { return _ = Foundation.close(listener) }
            SystemThread.start("proxy") { self.serve(client) }
        }
    }

    private func serve(_ client: Int32) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        defer { for end in [client, server] { Foundation.close(end) } }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: target.utf8) }
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        let isWanted = state.update { state in
            state.open.formUnion([client, server])
            return state.mode != .cut
        }
        defer { state.update { $0.open.subtract([client, server]) } }
        guard isOpen, isWanted else { return }
        let watch = CommitWatch()
        let back = Gate(false)
        SystemThread.start("proxy") {
            self.pass(from: server, to: client) { part in
                // The answer to a commit that is to be lost.
                watch.hasCut ? nil : part
            }
            back.updateAll { $0 = true }
        }
        pass(from: client, to: server) { part in
            let questions = watch.questions(in: part)
            self.state.update { $0.questionCount += questions }
            guard case .cutting(let cut) = self.state.update({ $0.mode }) else { return part }
            guard let place = watch.find(in: part) else { return part }
            self.state.update { $0.cutCount += 1 }
            watch.cut()
            if cut == .before { return Array(part[..<max(0, place)]) }
            self.send(part, to: server)
            // The server's answer comes once it has done it.
            if cut == .after { self.waitForBytes(server) }
            return nil
        }
        back.wait(for: { $0 ? () : nil })
    }

    private func waitForBytes(_ descriptor: Int32) {
        var one = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&one, 1, -1) < 0, errno == EINTR {}
    }

    /// Passes bytes until one end closes, or `look` gives nil.
    private func pass(
        from source: Int32, to target: Int32, _ look: @escaping @Sendable ([UInt8]) -> [UInt8]?
    ) {
        defer { for end in [source, target] { shutdown(end, Int32(SHUT_RDWR)) } }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = Foundation.read(source, &buffer, buffer.count)
            guard count > 0 else { return }
            state.wait(for: { $0.mode == .stalled ? nil : () })
            guard let part = look(Array(buffer[..<count])), send(part, to: target) else { return }
            if part.count < count { return }
        }
    }

    @discardableResult
    private func send(_ part: [UInt8], to target: Int32) -> Bool {
        var sent = 0
        while sent < part.count {
            let count = part[sent...].withUnsafeBytes {
                Foundation.send(target, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }
}

/// Finds COMMIT in what a client sends: the statement of this name is bound, or its text is parsed.
private final class CommitWatch: Sendable {
    private static let names = ["\0commit\0", "\0COMMIT\0"].map { Array($0.utf8) }
    /// The message that ends a question.
    private static let sync: [UInt8] = [UInt8(ascii: "S"), 0, 0, 0, 4]
    private let state = Gate((tail: [UInt8](), end: [UInt8](), hasCut: false))

    var hasCut: Bool { state.update { $0.hasCut } }

    func cut() { state.update { $0.hasCut = true } }

    func questions(in part: [UInt8]) -> Int {
        state.update { state in
            let all = state.end + part
            state.end = Array(all.suffix(Self.sync.count - 1))
            return all.ranges(of: Self.sync).count
        }
    }

    /// Where it begins; below 0: in what was passed already.
    func find(in part: [UInt8]) -> Int? {
        state.update { state in
            let all = state.tail + part
            let found = Self.names.compactMap { all.firstRange(of: $0)?.lowerBound }.min()
            let place = found.map { $0 - state.tail.count }
            state.tail = Array(all.suffix(7))
            return place
        }
    }
}
