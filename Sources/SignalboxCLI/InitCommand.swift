import ArgumentParser
import SignalboxDevTools

/// `signalbox init`.
struct InitCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Writes a first gateway.yaml, with comments and a test.")

    @Option(help: "Where events come from: \(NewConfiguration.sources.joined(separator: ", ")).")
    var source: [String]

    @Option(
        help:
            "How pushes leave, separated by commas: \(NewConfiguration.senders.joined(separator: ", "))."
    )
    var via = "apns,fcm"

    @Option(name: .shortAndLong, help: "The file; it must not exist.")
    var config = "gateway.yaml"

    func validate() throws {
        guard source.count == 1 else {
            throw ValidationError("give one --source; add others to the file afterwards")
        }
    }

    func run() async throws {
        do throws(AuthoringFault) {
            let made = try NewConfiguration(
                source: source[0], via: via.split(separator: ",").map { String($0) })
            try made.write(to: config)
            Output.line("wrote \(config); try it with `signalbox test --config \(config)`")
            Output.line("before it runs, it needs:")
            for need in made.needs { Output.line("  \(need)") }
        } catch {
            Output.error("signalbox: \(error.message)")
            throw Exit.fault
        }
    }
}
