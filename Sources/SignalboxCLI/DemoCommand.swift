import ArgumentParser
import Glibc
import Signalbox
import SignalboxDevTools
import SignalboxSimulators

/// `signalbox demo`.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Runs simulators and a gateway in one process and sends one webhook through them."
    )

    @OptionGroup var config: ConfigOptions

    @Option(help: "The body of the webhook.")
    var sample = "Tests/Fixtures/Zendesk/reply.json"

    @Flag(help: "Keep running until Ctrl-C.")
    var stay = false

    func run() async throws {
        StopSignals.catchAll()
        do {
            guard let body = Self.read(sample) else {
                throw ValidationError("there is no file \(sample)")
            }
            let demo = try await Demo.start(try config.gatewayOptions())
            show(demo)
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
        } catch {
            throw Exit.report(error)
        }
    }

    private func show(_ demo: Demo) {
        let admin = demo.gateway.adminPort.map { ", admin http://127.0.0.1:\($0)" } ?? ""
        Output.line(
            """
            simulators  APNs \(demo.simulators.apns.origin), FCM \(demo.simulators.fcm.origin), \
            control http://127.0.0.1:\(demo.simulators.controlPort)
            gateway     http://127.0.0.1:\(demo.gateway.port)\(admin)
            """)
    }

    private func wait(_ demo: Demo) async {
        Output.line(
            """

            Running; Ctrl-C stops it. Send another webhook:
              curl -i -H 'content-type: application/json' --data @\(sample) \\
                http://127.0.0.1:\(demo.gateway.port)/in/zendesk/demo
            See what arrived, or give the simulators orders (docs/simulators.md):
              curl http://127.0.0.1:\(demo.simulators.controlPort)/apns/received
            """)
        await StopSignals.wait()
    }

    private static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 2 << 20)
        let count = fread(&bytes, 1, bytes.count, file)
        return Array(bytes[..<count])
    }
}
