import ArgumentParser
import SignalboxDevTools

extension PluginsCommand {
    /// `signalbox plugins new`.
    struct NewCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "new",
            abstract: "Writes a new plugin project that builds and passes plugins check.")

        @Argument(help: "The plugin's name: Hello becomes libHello.so.")
        var name: String

        @Option(help: "c, swift or rust.")
        var language: String

        @Option(help: "One of \(NewPlugin.roles.joined(separator: ", ")).")
        var role: String

        @Option(help: "The project's folder; NAME by default.")
        var folder: String?

        @Option(help: "The SDK's folder; the installation's by default.")
        var sdk: String?

        func run() async throws {
            let target = folder ?? name
            do throws(AuthoringFault) {
                let plugin = try NewPlugin(name: name, language: language, role: role)
                let files = try plugin.write(to: target, sdk: sdk ?? NewPlugin.standardSDK)
                for file in files { Output.line("\(target)/\(file)") }
                Output.line(
                    "build it with `make -C \(target)`, check it with `make -C \(target) check`, "
                        + "try it with `make -C \(target) run`: \(target)/README.md")
            } catch {
                Output.error(error.message)
                throw Exit.fault
            }
        }
    }
}
