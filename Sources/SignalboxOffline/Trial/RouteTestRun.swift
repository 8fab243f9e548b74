internal import Glibc
internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxJSON
internal import SignalboxThreads

/// Runs the `tests:` of a configuration.
package struct RouteTestRun: Sendable {
    /// A place where a test failed, or why it could not run.
    package struct Failure: Sendable {
        /// `gateway.yaml:40:9: route support, send apns`.
        package let place: String
        /// What differs, one line each.
        package let lines: [String]
    }

    /// How one test ended.
    package struct Result: Sendable {
        /// The test's name.
        package let name: String
        /// `gateway.yaml:38:5`.
        package let position: String
        /// Empty if it passed.
        package let failures: [Failure]
        /// Golden files that were rewritten.
        package let written: [String]
        /// How long it took, in milliseconds.
        package let tookMs: Double

        /// Whether everything was as expected.
        package var isPassed: Bool { failures.isEmpty }
    }

    /// The default time in tests: 2026-01-01 12:00 UTC.
    private static let nowUnixMs: UInt64 = 1_767_268_800_000
    private let trial: Trial
    /// Only tests whose name contains this.
    private let filter: String?
    /// Whether to rewrite golden files that differ.
    private let updates: Bool

    /// Runs tests of a trial's configuration.
    package init(_ trial: Trial, filter: String? = nil, updates: Bool = false) {
        self.trial = trial
        self.filter = filter
        self.updates = updates
    }

    /// The tests that run, by name.
    package var names: [String] { chosen.map(\.name) }

    private var chosen: [RouteTest] {
        trial.tests.filter { filter.map($0.name.contains) ?? true }
    }

    /// Runs them one by one, in file order.
    package func run(_ onResult: (Result) -> Void) async {
        for test in chosen {
            let begin = SystemClock.monotonicNs
            var check = RouteTestCheck(folder: trial.folder, updates: updates)
            do {
                check.check(test, try await trial.run(try request(test)))
            } catch {
                check.fail(at: test.position, "the test cannot run", "\(error)".lines)
            }
            onResult(
                Result(
                    name: test.name, position: test.position.text, failures: check.failures,
                    written: check.written,
                    tookMs: Double(SystemClock.monotonicNs - begin) / 1_000_000))
        }
    }

    private func request(_ test: RouteTest) throws -> TrialRequest {
        var given = test.given
        if case .webhook(var webhook) = given, let name = webhook.bodyFile {
            let path = name.hasPrefix("/") ? name : "\(trial.folder)/\(name)"
            guard case .success(let bytes) = ConfigEnvironment.read(path) else {
                throw TrialFault(message: "cannot read body_file \(name)")
            }
            webhook.body = .string(String(decoding: bytes, as: UTF8.self))
            given = .webhook(webhook)
        }
        var request = TrialRequest(given)
        request.devices = test.devices
        request.answers = test.answers
        request.nowUnixMs = test.nowUnixMs ?? Self.nowUnixMs
        return request
    }
}

extension String {
    /// Its lines.
    fileprivate var lines: [String] { split(separator: "\n").map { String($0) } }
}

extension SourcePosition {
    /// `gateway.yaml:12:5`.
    package var text: String { "\(file):\(line):\(column)" }
}
