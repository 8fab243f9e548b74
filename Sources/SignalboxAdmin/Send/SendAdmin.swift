internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON
internal import SignalboxOffline
internal import SignalboxPluginHost

/// `POST /send` on the admin listener: one push by a running sender, and the provider's answer.
///
/// It bypasses the queue, is never retried, and does not change the registry.
struct SendAdmin: Sendable {
    /// Most devices that one request reaches.
    private static let devicesMax = 20
    let registry: any DeviceRegistry
    let current: CurrentGeneration
    let runtime: GatewayRuntime

    var paths: [AdminPath] { [AdminPath(.send) { _, request in try await answer(request) }] }

    private func answer(_ request: HTTPServerRequest) async throws -> HTTPServerAnswer {
        do {
            let push = try OnePush(json: try JSONValue.parse(request.body))
            let generation = current.generation
            let senders = generation.instances.senders.keys.sorted()
            guard senders.contains(push.via) else {
                throw TrialFault(
                    message:
                        "no sender \"\(push.via)\"\(Suggestion.hint(for: push.via, among: senders)); "
                        + "known: \(senders.joined(separator: ", "))")
            }
            let devices = try await devices(push, generation.plan)
            let sender = DirectSender(
                runtime: runtime, instances: generation.instances)
            var results: [DirectSender.Result] = []
            for (index, device) in devices.prefix(Self.devicesMax).enumerated() {
                results.append(
                    await sender.send(
                        push.delivery(
                            to: device, number: UInt64(index + 1), nowUnixMs: runtime.clock())))
            }
            return .json(
                [
                    "delivered": .bool(results.allSatisfy(\.isDelivered)),
                    "results": .array(results.map(\.json)),
                ])
        } catch let fault as JSONFault {
            throw Problem(400, "the body is not JSON: \(fault.message)")
        } catch let fault as TrialFault {
            throw Problem(400, fault.message)
        }
    }

    private func devices(_ push: OnePush, _ plan: GatewayPlan) async throws -> [Device] {
        if !push.token.isEmpty { return [try push.device(plan)] }
        guard !push.user.isEmpty else { throw TrialFault(message: "give token or user") }
        let found = try await registry.devices(app: push.app, user: push.user)
        return try push.chosen(found, plan)
    }
}
