import ArgumentParser
import Signalbox
import SignalboxDevTools
import SignalboxSimulators

/// `signalbox demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract:
            "Runs simulators and a gateway in one process and sends one webhook through them.",
        discussion: """
            With --no-webhook it tries any configuration: variables such as FCM_ENDPOINT and the files
            secrets/apns.p8 and secrets/fcm.json are the simulators', and what these receive is shown.
            """)

    @OptionGroup var config: ConfigOptions

    @Option(help: "The body of the webhook. (default: a reply from Zendesk)")
    var sample =
        Installation.shared("reply.json") ?? "Tests/Fixtures/Zendesk/reply.json"

    @Flag(help: "Keep running until Ctrl-C.")
    var stay = false

    @Flag(help: "Send no webhook, and keep running until Ctrl-C.")
    var noWebhook = false

    @Option(help: "Port of the simulators' control API; 0: any free one.")
    var controlPort = 0

    func run() async throws {
        StopSignals.catchAll()
        do {
            let body = noWebhook ? [] : try InputFile.read(sample, "--sample")
            let demo = try await Demo.start(
                try shippedIfNone(config).gatewayOptions(), controlPort: controlPort)
            show(demo)
            if noWebhook {
                await follow(demo)
                return await demo.stop()
            }
            let report = try await demo.send(body)
            for line in report.lines { Output.line(line) }
            Output.line(
                report.isConfirmed
                    ? "both pushes were confirmed" : "a push is missing or was refused")
            if stay { await wait(demo) }
            await demo.stop()
            if !report.isConfirmed { throw Exit.fault }
        } catch let code as ExitCode {
            throw code
        } catch let error as ValidationError {
            throw error
        } catch {
            throw Exit.report(error)
        }
    }

    /// With the installed sample, unless a configuration is named or there is one here.
    private func shippedIfNone(_ given: ConfigOptions) -> ConfigOptions {
        var config = given
        if !noWebhook, config.config == ConfigOptions.configName {
            config.config = Installation.hereOrShared(ConfigOptions.configName)
        }
        return config
    }

    private func show(_ demo: Demo) {
        if let port = demo.gateway.adminPort {
            Output.line("page        http://127.0.0.1:\(port)/")
        }
        Output.line(
            """
            simulators  APNs \(demo.simulators.apns.origin), FCM \(demo.simulators.fcm.origin), \
            control http://127.0.0.1:\(demo.simulators.controlPort)
            gateway     http://127.0.0.1:\(demo.gateway.port)
            """)
    }

    private func wait(_ demo: Demo) async {
        Output.line(
            """

            Running; Ctrl-C stops it. Send another webhook:
              curl -i -H 'content-type: application/json' --data @\(sample) \\
                http://127.0.0.1:\(demo.gateway.port)/in/zendesk/demo
            What arrives is shown here. docs/simulators.md says how to let the providers fail.

            """)
        await follow(demo)
    }

    private func follow(_ demo: Demo) async {
        let follower = Task {
            await demo.follow { push in
                for line in Demo.Report.lines(of: push) { Output.line(line) }
            }
        }
        await StopSignals.wait()
        follower.cancel()
    }
}
