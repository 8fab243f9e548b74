import ArgumentParser
import Signalbox

/// `signalbox graph`.
struct GraphCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "graph",
        abstract: "Draws the routes from source to sender: for Mermaid, or as SVG.")

    @Option(name: .shortAndLong, help: "Path of the configuration.")
    var config = "gateway.yaml"

    @Flag(help: "A picture instead of Mermaid's text.")
    var svg = false

    func run() async throws {
        do {
            let graph = try RouteGraph(GatewayOptions(configPath: config))
            Output.line(String((svg ? graph.svg : graph.mermaid).dropLast()))
        } catch {
            throw Exit.report(error)
        }
    }
}
