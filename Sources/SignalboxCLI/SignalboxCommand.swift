import ArgumentParser
import Signalbox

/// The `signalbox` program.
struct SignalboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "signalbox",
        abstract: "A notification gateway: events in, pushes out, providers as plugins.",
        version: Gateway.version,
        subcommands: [
            RunCommand.self,
            CheckCommand.self,
            SchemaCommand.self,
            ReloadCommand.self,
            TraceCommand.self,
            PauseCommand.self,
            ResumeCommand.self,
            WaitingCommand.self,
            LevelCommand.self,
            PluginsCommand.self,
            SimulateCommand.self,
            DemoCommand.self,
            DeadCommand.self,
            ForgetCommand.self,
            ExportCommand.self,
            FleetCommand.self,
            StoreCommand.self,
            ExplainCommand.self,
            TestCommand.self,
            GraphCommand.self,
            InitCommand.self,
            SendCommand.self,
            TopCommand.self,
        ])
}
