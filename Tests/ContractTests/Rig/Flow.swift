import Foundation
import PluginRig
import SignalboxCore

/// The input for a plugin.
///
/// Hosts/main.c and `Flow.run` use it the same way: requests become events, these become
/// notifications, these become requests and outcomes; finally all devices are reported dead.
struct Flow: Sendable {
    var path: String
    var pattern: String
    var config: String
    var bodies: [String]
    var secrets: [String] = []
    var headers = [Attribute("x-mark", "m1")]

    static let nowUnixMs: UInt64 = 1_700_000_000_000

    /// The flow of Plugins/Contract.
    static let contract = Flow(
        path: "/in/garden", pattern: "/in/{shop}", config: #"{"a":1}"#,
        bodies: [
            """
            ios token-1 anna
            android token-2 ben
            ios token-3 carl muted
            bad line
            android token-5 emma
            ios token-4 dora
            """, "wrong",
        ], secrets: ["key"])

    /// The expected transcript in every host.
    static func expected() throws -> [String] {
        let file = PluginRig.root.appending(path: "Tests/ContractTests/Hosts/contract.txt")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").map {
            String($0)
        }
    }

    /// Runs the flow through a host in C.
    ///
    /// With several plugins, the output of the first goes to the others.
    func run(host: String, libraries: [(file: String, config: String)]) async throws -> (
        transcript: Transcript, result: Tool.Ended
    ) {
        let result = try await Tool.run(
            [host, path, pattern, headers.map { "\($0.key):\($0.value)" }.joined(separator: ",")]
                + libraries.flatMap { [$0.file, $0.config] } + ["--"] + bodies)
        return (Transcript(lines: result.lines), result)
    }

    func run(host: String, library: String) async throws -> (
        transcript: Transcript, result: Tool.Ended
    ) {
        try await run(host: host, libraries: [(library, config)])
    }
}
