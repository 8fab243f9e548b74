internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxOffline
internal import Synchronization

/// `POST /explain` on the admin listener: a trial with the running configuration, which sends and stores nothing.
///
/// The plugins run in separate instances. Only one trial runs at a time, to limit the cost.
final class TrialAdmin: Sendable {
    private let registry: any DeviceRegistry
    private let current: CurrentGeneration
    private let program: InstanceSet.Program
    private let isBusy = Atomic<Bool>(false)

    init(
        registry: any DeviceRegistry, current: CurrentGeneration, _ program: InstanceSet.Program
    ) {
        self.registry = registry
        self.current = current
        self.program = program
    }

    var paths: [AdminPath] {
        [AdminPath(.explain) { _, request in try await self.answer(request) }]
    }

    private func answer(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        guard !isBusy.exchange(true, ordering: .acquiring) else {
            return Problem.busy("another trial is running")
        }
        defer { isBusy.store(false, ordering: .releasing) }
        do {
            let wanted = try TrialRequest(json: try JSONValue.parse(request.body))
            let trial = Trial(current.generation.plan, program, registry: registry)
            return .json(try await trial.run(wanted).json)
        } catch let fault as JSONFault {
            throw Problem(400, "the body is not JSON: \(fault.message)")
        } catch let fault as TrialFault {
            throw Problem(400, fault.message)
        } catch let fault as SubmitError {
            throw Problem(400, fault.message)
        }
    }
}
