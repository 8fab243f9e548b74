import ArgumentParser
import Glibc
import Signalbox

/// `signalbox test`.
struct TestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Runs the tests of a configuration; exits 1 if one fails.",
        discussion: """
            Runs the real plugins without network and store. Missing secrets are replaced. docs/trying.md explains what \
            tests may expect.
            """)

    @OptionGroup var config: ConfigOptions

    @Option(help: "Only tests whose name contains this.")
    var filter: String?

    @Flag(help: "Write golden files (payload_file) that differ.")
    var update = false

    @Option(help: "Write the results as JUnit's XML.")
    var junit: String?

    @Flag(help: "One line of JSON per test.")
    var json = false

    func run() async throws {
        var results: [RouteTestRun.Result] = []
        do {
            let run = RouteTestRun(
                try Trial(try config.gatewayOptions()), filter: filter, updates: update)
            await run.run { result in
                results.append(result)
                Output.line(json ? result.jsonText : result.text)
            }
        } catch {
            throw Exit.report(error)
        }
        if let junit, !Self.write(results.junit, to: junit) {
            Output.error("signalbox: cannot write \(junit): \(String(cString: strerror(errno)))")
            throw Exit.fault
        }
        let failed = results.count { !$0.isPassed }
        if !json {
            let count = results.count == 1 ? "1 test" : "\(results.count) tests"
            Output.line(failed == 0 ? "\(count), all passed" : "\(count), \(failed) failed")
        }
        if failed > 0 { throw Exit.fault }
        if results.isEmpty {
            Output.error("\(config.config) has no such test")
            if filter != nil { throw Exit.fault }
        }
    }

    private static func write(_ text: String, to path: String) -> Bool {
        guard let file = fopen(path, "we") else { return false }
        let isWritten = fputs(text, file) >= 0
        return fclose(file) == 0 && isWritten
    }
}
