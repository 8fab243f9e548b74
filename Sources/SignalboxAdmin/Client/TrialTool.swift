internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway
package import SignalboxOffline

/// Runs trials for a command.
package enum TrialTool {
    /// Runs locally with the configuration; missing secrets are replaced.
    package static func run(
        _ input: TrialInput, _ bytes: [UInt8], _ options: GatewayOptions
    ) async throws -> TrialReport.Shown {
        let trial = try Trial(options)
        let sources = trial.sources
        return try await trial.run(
            try input.request(bytes, onlySource: sources.count == 1 ? sources.first : nil)
        ).shown
    }

    /// Runs in the running gateway, with the devices of its registry.
    package static func ask(
        _ input: TrialInput, _ bytes: [UInt8], _ options: GatewayOptions
    ) async throws -> TrialReport.Shown {
        let request = try input.request(bytes, onlySource: nil)
        let json = try await options.ask(.explain, AdminInput(json: request.json))
        return TrialReport.Shown(
            text: json["text"]?.string ?? "", json: json.text,
            sendsAnything: json["sends"] == .bool(true))
    }
}
