import ArgumentParser
import Signalbox
internal import SignalboxAdmin

/// `signalbox send`.
struct SendCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "send",
        abstract: "Sends one push by the running gateway and shows what the provider answers.",
        discussion: """
            It passes the queue by: it is tried once, and a dead token stays registered. With --dry-run nothing is sent \
            and no gateway is needed. Exits 1 unless the provider takes it.
            """)

    @OptionGroup var config: ConfigOptions

    @Option(help: "The sender: a plugin of the configuration.")
    var via: String

    @Option(help: "The device's token.")
    var to: String?

    @Option(help: "The user whose registered devices get it.")
    var user: String?

    @Option(help: "The app: a bundle id or project.")
    var app = ""

    @Option(help: "The device's platform; by default the one that routes give to the sender.")
    var platform = ""

    @Option(help: "The first line.")
    var title = ""

    @Option(help: "The second line, on iOS.")
    var subtitle = ""

    @Option(help: "The text.")
    var body = ""

    @Option(help: "The number on the app's icon.")
    var badge: Int32?

    @Option(help: "The sound; empty: none.")
    var sound = "default"

    @Option(help: "The app's own keys, a JSON object.")
    var data = ""

    @Flag(help: "Wake the app and show nothing.")
    var silent = false

    @Flag(help: "Show the request, and send nothing.")
    var dryRun = false

    @Flag(help: "JSON.")
    var json = false

    func validate() throws {
        if (to == nil) == (user == nil) { throw ValidationError("give --to TOKEN or --user ID") }
        if title.isEmpty, body.isEmpty, !silent {
            throw ValidationError("give --title or --body, or --silent")
        }
    }

    func run() async throws {
        do {
            var push = OnePush()
            push.via = via
            push.token = to ?? ""
            push.user = user ?? ""
            push.app = app
            push.platform = platform
            push.setTexts(title: title, subtitle: subtitle, body: body)
            try push.setRest(badge: badge, sound: silent ? "" : sound, data: data, isSilent: silent)
            let options = try config.gatewayOptions()
            let shown =
                dryRun
                ? try await SendTool.show(push, options) : try await SendTool.send(push, options)
            if json {
                Output.line(shown.json)
            } else {
                for line in shown.lines { Output.line(line) }
            }
            if !shown.isDelivered { throw Exit.fault }
        } catch let code as ExitCode {
            throw code
        } catch {
            throw Exit.report(error)
        }
    }
}
