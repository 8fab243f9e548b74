internal import Glibc
internal import SignalboxCore
internal import Synchronization

/// Reports this process's findings, line by line, to the watching process over descriptor 3.
final class Findings: Sendable {
    static let shared = Findings()
    static let descriptor: Int32 = 3
    private static let failuresMax = 4
    private let failed = Mutex<[CheckRule: Int]>([:])
    private let doingNow = Mutex("")
    /// As the texts of the rules say.
    private static let waitMsMax: UInt64 = 500
    private let blocks = Mutex<CheckRule?>(nil)

    /// What is being done, for findings of other threads.
    var place: String { doingNow.withLock { $0 } }

    /// Names the next action: a crash is blamed on it.
    func doing(_ what: String) {
        doingNow.withLock { $0 = what }
        tell([.init("doing", .string(what))])
    }

    /// Names the function of the plugin that is about to be called: one that does not come back is blamed by name.
    func calling(_ function: String) { tell([.init("calling", .string(function))]) }

    func begin(step: String, ms: UInt64) {
        doingNow.withLock { $0 = "step \(step)" }
        tell([.init("step", .string(step)), .init("ms", .integer(Int64(ms)))])
    }

    func end(step: String) { tell([.init("done", .string(step))]) }

    func about(_ title: String) { tell([.init("title", .string(title))]) }

    /// Something to know that breaks no rule.
    func note(_ words: String) { tell([.init("note", .string(words))]) }

    /// A call of the role that is examined waited for so long.
    func waited(_ name: String, ms: UInt64) {
        guard ms >= Self.waitMsMax, let rule = blocks.withLock({ $0 }) else { return }
        fail(rule, "\(name) waited for \(ms) ms")
    }

    /// Names the rule about calls that wait in the role that is examined now.
    func examine(blocks rule: CheckRule?) { blocks.withLock { $0 = rule } }

    func finish() { tell([.init("end", .bool(true))]) }

    func fail(_ rule: CheckRule, _ words: String) {
        let count = failed.withLock { failed in
            failed[rule, default: 0] += 1
            return failed[rule] ?? 0
        }
        if count <= Self.failuresMax { tell(rule, .fail, words) }
    }

    func pass(_ rule: CheckRule) {
        if !hasFailed(rule) { tell(rule, .pass, "") }
    }

    func skip(_ rule: CheckRule, _ why: String) { tell(rule, .notApplicable, why) }
    func leave(_ rule: CheckRule, _ why: String) { tell(rule, .unchecked, why) }

    func hasFailed(_ rule: CheckRule) -> Bool { failed.withLock { $0[rule] != nil } }

    private func tell(_ rule: CheckRule, _ verdict: CheckReport.Verdict, _ words: String) {
        tell([
            .init("rule", .string(rule.rawValue)), .init("verdict", .string(verdict.rawValue)),
            .init("words", .string(words)),
        ])
    }

    private func tell(_ members: [JSONValue.Member]) {
        let bytes = Array((JSONValue.object(members).text + "\n").utf8)
        bytes.withUnsafeBytes { _ = write(Self.descriptor, $0.baseAddress, $0.count) }
    }
}
