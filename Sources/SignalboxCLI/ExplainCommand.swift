import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox explain`.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Shows what a webhook or an event would send, and why a route does not take it.",
        discussion: """
            Runs the real plugins without network and store: nothing is sent and nothing is kept. Missing secrets are \
            replaced. The file holds a webhook's body (with --webhook or --path), an event as JSON (with --source), or \
            a request of POST /explain; docs/trying.md explains them. Exits 1 if nothing would be sent.
            """)

    @OptionGroup var config: ConfigOptions

    @Argument(help: "The file; - reads standard input.")
    var file: String

    @Option(help: "The instance whose webhook it is.")
    var webhook: String?

    @Option(help: "The webhook's path; with --webhook only if the instance serves several.")
    var path: String?

    @Option(name: .customShort("H"), help: "A header of the webhook, as NAME: VALUE; repeatable.")
    var header: [String] = []

    @Option(help: "The webhook's method; POST by default.")
    var method: String?

    @Option(help: "The source of the event.")
    var source: String?

    @Option(help: "A file with the device registry's devices, a JSON array.")
    var devices: String?

    @Option(
        parsing: .unconditional,
        help:
            "The time: 2026-01-02T23:30:00+01:00, 23:30 (the last one), 2h or -2h (ago); now by default."
    )
    var now: String?

    @Flag(help: "Ask the running gateway: its configuration, and the devices of its registry.")
    var live = false

    @Flag(help: "Check the webhook's signature; otherwise any is valid.")
    var checkSignature = false

    @Flag(help: "JSON.")
    var json = false

    func run() async throws {
        do {
            var input = TrialInput()
            input.instance = webhook
            input.path = path
            input.method = method
            input.headers = header
            input.source = source
            input.checksSignatures = checkSignature
            input.devices = try devices.map { try InputFile.read($0, "--devices") }
            input.nowUnixMs = try now.map(TrialInput.unixMs)
            if let ms = input.nowUnixMs { Output.error("the time is \(PastTime.words(ms))") }
            let bytes = try InputFile.read(file, "explain")
            let options = try config.gatewayOptions()
            let report =
                live
                ? try await TrialTool.ask(input, bytes, options)
                : try await TrialTool.run(input, bytes, options)
            Output.line(json ? report.json : String(report.text.dropLast()))
            if !report.sendsAnything { throw Exit.fault }
        } catch let code as ExitCode {
            throw code
        } catch let error as ValidationError {
            throw error
        } catch {
            throw Exit.report(error)
        }
    }
}
