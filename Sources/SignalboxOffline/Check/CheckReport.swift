internal import SignalboxConfig
public import SignalboxCore
package import SignalboxGateway
internal import SignalboxJSON

/// What a check found: everything at once, in file order.
public struct CheckReport: Sendable {
    /// The configuration's path as given.
    public let file: String
    /// Faults that prevent a start or a reload.
    public let faults: [Diagnostic]
    /// Settings that work but are probably a mistake.
    public let warnings: [Diagnostic]
    /// The proxies in use, without passwords; empty if all connections are direct.
    public let proxies: [String]

    /// Checks a configuration with its plugins without running anything.
    package static func make(_ options: GatewayOptions) async -> CheckReport {
        var options = options
        options.isCheck = true
        let (plan, faults) = GatewayPlan.examine(options)
        let dryStart = await DryStart.run(plan, options)
        return CheckReport(
            file: options.configPath, faults: (faults + dryStart.faults).inOrder,
            warnings: (plan.warnings + dryStart.warnings).inOrder, proxies: plan.proxies(options))
    }

    /// Whether the faults may pass without a change, such as an unreachable database.
    public var isTemporary: Bool {
        !faults.isEmpty && ConfigurationError(diagnostics: faults).isTemporary
    }

    /// One JSON object: `{"file":..., "faults":[{"code","message","file","line","column"}], "warnings":[...]}`, and `proxies`
    /// if there are any.
    public var json: String {
        JSONValue.object(
            [
                .init("file", .string(file)), .init("faults", .array(faults.map(\.json))),
                .init("warnings", .array(warnings.map(\.json))),
            ] + (proxies.isEmpty ? [] : [.init("proxies", .array(proxies.map { .string($0) }))])
        ).text
    }

    /// SARIF 2.1.0, which code hosts and editors show beside the lines.
    public var sarif: String {
        let results =
            faults.map { Self.result($0, "error") } + warnings.map { Self.result($0, "warning") }
        let codes = Set((faults + warnings).map(\.code)).sorted()
        let driver: JSONValue = [
            "name": "signalbox", "version": .string(Release.version),
            "rules": .array(codes.map { ["id": .string($0)] }),
        ]
        return JSONValue.object([
            .init("$schema", .string("https://json.schemastore.org/sarif-2.1.0.json")),
            .init("version", .string("2.1.0")),
            .init(
                "runs",
                [["tool": ["driver": driver], "results": .array(results)]]),
        ]).text
    }

    private static func result(_ one: Diagnostic, _ level: String) -> JSONValue {
        let region: JSONValue = [
            "startLine": .integer(Int64(one.position.line)),
            "startColumn": .integer(Int64(one.position.column)),
        ]
        let artifact: JSONValue = ["uri": .string(one.position.file)]
        return [
            "ruleId": .string(one.code), "level": .string(level),
            "message": ["text": .string(one.message)],
            "locations": [["physicalLocation": ["artifactLocation": artifact, "region": region]]],
        ]
    }
}
