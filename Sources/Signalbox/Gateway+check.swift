internal import SignalboxConfig
public import SignalboxCore
internal import SignalboxGateway
internal import SignalboxOffline

extension Gateway {
    /// Checks a configuration with its plugins without running anything; throws with every fault.
    ///
    /// Returns warnings about settings that are probably a mistake.
    @discardableResult
    public static func check(
        _ options: GatewayOptions
    ) async throws(ConfigurationError) -> [Diagnostic] {
        let report = await examine(options)
        guard report.faults.isEmpty else { throw ConfigurationError(diagnostics: report.faults) }
        return report.warnings
    }

    /// Checks a configuration with its plugins without running anything.
    public static func examine(_ options: GatewayOptions) async -> CheckReport {
        await CheckReport.make(options)
    }
}
