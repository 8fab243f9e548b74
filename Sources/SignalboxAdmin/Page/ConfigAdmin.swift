internal import SignalboxConfig
internal import SignalboxCore
package import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxThreads
internal import Synchronization

/// `GET /config` on the admin listener: gateway.yaml as it is on disk, without secrets, with its faults and warnings.
///
/// One check runs at a time, for all concurrent requests. Like a reload it reads the file and its plugins, but it
/// starts and changes nothing.
package final class ConfigAdmin: Sendable {
    private let options: GatewayOptions
    private let running = Mutex<Task<HTTPServerAnswer, Never>?>(nil)

    package init(_ options: GatewayOptions) { self.options = options }

    var paths: [AdminPath] { [AdminPath(.config) { _, _ in await self.answer() }] }

    private func answer() async -> HTTPServerAnswer {
        let task = running.withLock { running in
            if let known = running { return known }
            let made = Task {
                let answer = await self.check()
                self.running.withLock { $0 = nil }
                return answer
            }
            running = made
            return made
        }
        return await task.value
    }

    private func check() async -> HTTPServerAnswer {
        let options = options
        // Loading libraries may take long, so it runs on its own thread.
        let (plan, faults) = await SystemThread.value { GatewayPlan.examine(options) }
        let findings =
            faults.map { Self.json($0, "fault") } + plan.warnings.map { Self.json($0, "warning") }
        return .json(
            [
                "file": .string(plan.config.file), "configuration": .string(plan.digest),
                "findings": .array(findings),
                "lines": .array(ShownFile(plan).lines.map { .string($0) }),
            ])
    }

    private static func json(_ one: Diagnostic, _ severity: String) -> JSONValue {
        [
            "severity": .string(severity), "code": .string(one.code),
            "message": .string(one.message), "line": .integer(Int64(one.position.line)),
            "column": .integer(Int64(one.position.column)),
        ]
    }
}
