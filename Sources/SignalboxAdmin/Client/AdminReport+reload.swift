internal import SignalboxCore
package import SignalboxGateway

/// Why a reload did not happen.
package struct ReloadRejection: Error, Sendable, CustomStringConvertible {
    /// The faults of the configuration.
    package let faults: [String]
    /// One line per fault.
    package var description: String { faults.joined(separator: "\n") }
}

extension AdminReport {
    /// Makes a running gateway apply its configuration, and waits for the result; `isCheck`: only reports what would
    /// change.
    ///
    /// Throws a `ReloadRejection` if the configuration has faults.
    package static func reload(
        isCheck: Bool, _ options: GatewayOptions
    ) async throws -> AdminReport {
        do {
            let answer = try await options.ask(.reload, suffix: isCheck ? "?check" : "")
            return AdminReport(answer, ReloadText(answer).text)
        } catch let fault as AdminFault where !fault.faults.isEmpty {
            throw ReloadRejection(faults: fault.faults)
        } catch let fault as AdminFault where fault.status == 401 {
            throw AdminFault(
                description:
                    "\(fault); if gateway.admin_token is what has changed, send the process "
                    + "SIGHUP instead: it still has the previous one", status: 401)
        }
    }
}
