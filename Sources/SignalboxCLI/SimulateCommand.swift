import ArgumentParser
import SignalboxSimulators

/// `signalbox simulate`.
struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract:
            "Runs simulators of APNs, FCM, HMS, Airship and Telegram that verify requests and fail on command, and one that takes everything.",
        discussion: "Orders are explained in docs/simulators.md.")

    @Option(help: "Folder for keys and certificates; temporary if omitted.")
    var folder: String?

    @Option(help: "Port of the APNs simulator; 0: any free one.")
    var apnsPort = 0

    @Option(help: "Port of the FCM simulator; 0: any free one.")
    var fcmPort = 0

    @Option(help: "Port of the HMS simulator; 0: any free one.")
    var hmsPort = 0

    @Option(help: "Port of the Airship simulator; 0: any free one.")
    var airshipPort = 0

    @Option(help: "Port of the Telegram simulator; 0: any free one.")
    var telegramPort = 0

    @Option(help: "Port of the provider that takes everything; 0: any free one.")
    var providerPort = 0

    @Option(help: "Port of the control API; 0: any free one.")
    var controlPort = 0

    @Option(help: "An allowed bundle id; repeatable. By default all are allowed.")
    var topic: [String] = []

    @Flag(help: "Refuse APNs tokens that are not hexadecimal, as Apple does.")
    var strictTokens = false

    func run() async throws {
        StopSignals.catchAll()
        var options = SimulatorsOptions()
        options.folder = folder
        options.apnsPort = apnsPort
        options.fcmPort = fcmPort
        options.hmsPort = hmsPort
        options.airshipPort = airshipPort
        options.telegramPort = telegramPort
        options.providerPort = providerPort
        options.controlPort = controlPort
        options.apns.topics = Set(topic)
        options.apns.takesAnyToken = !strictTokens
        let simulators: Simulators
        do {
            simulators = try await Simulators.start(options)
        } catch {
            throw Exit.report(error)
        }
        Output.line(
            "# APNs \(simulators.apns.origin), FCM \(simulators.fcm.origin), "
                + "HMS \(simulators.hms.origin), Airship \(simulators.airship.origin), "
                + "Telegram \(simulators.telegram.origin), "
                + "any other \(simulators.provider.origin),")
        Output.line("# control API http://127.0.0.1:\(simulators.controlPort)")
        Output.line("# keys and certificates: \(simulators.files.folder)")
        for (name, value) in simulators.variables.sorted(by: { $0.key < $1.key }) {
            Output.line("export \(name)=\(value)")
        }
        await StopSignals.wait()
        // The end of the process closes the connections; no client is waited for.
        simulators.removeFiles()
    }
}
