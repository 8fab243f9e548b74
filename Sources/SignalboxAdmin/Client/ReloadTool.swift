internal import SignalboxCore
package import SignalboxGateway
internal import SignalboxHTTP

/// `signalbox reload`: makes a running gateway apply its configuration, and waits for the result.
package struct ReloadTool: Sendable {
    /// Why a reload did not happen.
    package struct Rejection: Error, Sendable, CustomStringConvertible {
        /// The faults of the configuration.
        package let faults: [String]
        /// One line per fault.
        package var description: String { faults.joined(separator: "\n") }
    }

    /// For scripts.
    package let json: String
    /// For people.
    package let text: String

    /// Asks the gateway with that configuration; `isCheck`: only reports what a reload would change.
    ///
    /// Throws a `Rejection` if the configuration has faults.
    package static func run(_ options: GatewayOptions, isCheck: Bool) async throws -> ReloadTool {
        do {
            // It ends with the replaced instances, after the drain time at the latest.
            let report = try await AdminClient.ask(
                options, "POST", isCheck ? "/reload?check" : "/reload", "{}", timeoutMs: 900_000)
            return ReloadTool(json: report.text, text: ReloadText(report).text)
        } catch let fault as AdminFault where !fault.faults.isEmpty {
            throw Rejection(faults: fault.faults)
        } catch let fault as AdminFault where fault.status == 401 {
            throw AdminFault(
                description:
                    "\(fault); if gateway.admin_token is what has changed, send the process "
                    + "SIGHUP instead: it still has the previous one", status: 401)
        }
    }
}
