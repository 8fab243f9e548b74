import ArgumentParser
import Glibc
import Signalbox
internal import SignalboxAdmin
import SignalboxObservability

/// `signalbox top`.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top",
        abstract: "Shows a running gateway's rates, latency and waiting deliveries, live.",
        discussion: "Latencies are the upper bounds of the histogram's buckets. Ctrl-C ends it.")

    @OptionGroup var config: ConfigOptions

    @Option(help: "Seconds between two looks, 1 to 60.")
    var interval = 2

    @Flag(help: "Print one table and end, for scripts.")
    var once = false

    func validate() throws {
        guard (1...60).contains(interval) else {
            throw ValidationError("--interval must be 1 to 60")
        }
    }

    func run() async throws {
        let tool: TopTool
        var earlier: TopTool.Sample
        do {
            tool = try TopTool(try config.gatewayOptions())
            earlier = try await tool.sample()
        } catch {
            throw Exit.report(error)
        }
        let isTerminal = isatty(STDOUT_FILENO) == 1
        while true {
            try await Task.sleep(for: .seconds(interval))
            do {
                let now = try await tool.sample()
                let lines = TopTable(now, since: earlier).lines
                earlier = now
                show(lines, clears: isTerminal && !once)
            } catch {
                if once { throw Exit.report(error) }
                show(["the gateway does not answer: \(error)"], clears: isTerminal)
            }
            if once { break }
        }
        await tool.close()
    }

    private func show(_ lines: [String], clears: Bool) {
        // Home, each line to its end, then the rest of the screen: nothing flickers.
        let end = clears ? "\u{1B}[K\n" : "\n"
        let text = lines.map(PlainText.lines).joined(separator: end)
        Output.screen(clears ? "\u{1B}[H\(text)\u{1B}[K\u{1B}[J" : text)
    }
}
