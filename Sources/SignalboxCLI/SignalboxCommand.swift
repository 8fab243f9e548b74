import ArgumentParser
import Signalbox

/// The `signalbox` program.
struct SignalboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalbox",
        abstract: "A notification gateway: events in, pushes out, providers as plugins.",
        version: Gateway.version,
        subcommands: [
            RunCommand.self, CheckCommand.self, PluginsCommand.self, SimulateCommand.self,
            DemoCommand.self, DeadCommand.self, FleetCommand.self, StoreCommand.self,
        ])
}
