import Foundation
import PluginRig
import Synchronization

/// What posters were answered.
final class Tally: Sendable {
    private struct State {
        var tokens: [String] = []
        var faults: [String] = []
        var nextNumber = 0
        var isOver = false
    }

    private let state = Mutex(State())
    private let prefix: String

    init(prefix: String = "t") { self.prefix = prefix }

    var tokens: [String] { state.withLock { $0.tokens } }
    var faults: [String] { state.withLock { $0.faults } }
    var isOver: Bool { state.withLock { $0.isOver } }

    func next() -> String {
        state.withLock { state in
            state.nextNumber += 1
            return "\(prefix)\(state.nextNumber)"
        }
    }

    func note(_ token: String, _ answer: String) {
        state.withLock { state in
            if answer.hasPrefix("HTTP/1.1 200") {
                state.tokens.append(token)
            } else {
                state.faults.append("\(token): \(answer.prefix(200))")
            }
        }
    }

    /// The answers that were no success, each kind with how often it came.
    var kindsOfFaults: [String: Int] {
        faults.reduce(into: [:]) { kinds, fault in
            let answer = fault.drop { $0 != ":" }
            kinds[String(answer.prefix { !$0.isNewline }), default: 0] += 1
        }
    }

    func end() { state.withLock { $0.isOver = true } }

    func wait(forMore count: Int, whateverFails: Bool = false) async throws {
        let end = tokens.count + count
        while tokens.count < end, whateverFails || faults.isEmpty {
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// Posts webhooks one after the other, over raw sockets: a library would hide a refusal by trying again.
struct Poster {
    let port: Int
    let keepsAlive: Bool
    let tally: Tally

    static func request(_ token: String, keepsAlive: Bool) -> String {
        let body = GatewayRig.webhook([("ios", token)], ticket: token)
        return "POST /in/z HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n"
            + (keepsAlive ? "" : "connection: close\r\n")
            + "content-length: \(body.utf8.count)\r\n\r\n\(body)"
    }

    func run() async {
        var client: RawClient?
        while !tally.isOver {
            let token = tally.next()
            guard let open = try? client ?? RawClient(port: port) else {
                return tally.note(token, "refused")
            }
            open.send(Self.request(token, keepsAlive: keepsAlive))
            let answer = await open.read { Self.isWhole($0) }
            tally.note(token, answer)
            client =
                answer.isEmpty || answer.lowercased().contains("connection: close") ? nil : open
        }
    }

    private static func isWhole(_ answer: String) -> Bool {
        guard let head = answer.range(of: "\r\n\r\n") else { return false }
        let length =
            answer.lowercased().firstMatch(of: /content-length: (\d+)/).flatMap { Int($0.output.1) }
            ?? 0
        return answer[head.upperBound...].utf8.count >= length
    }
}
