import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost
import Testing

/// A sender under test with its role.
struct SendRig {
    let services: RigServices
    let instance: PluginInstance
    let role: SendHTTPRole

    init(
        _ name: String, config: String, files: String? = nil, services: RigServices
    ) async throws {
        self.services = services
        instance = try await PluginRig.bundledInstance(
            name, config: config, files: files, services: services)
        role = try #require(SendHTTPRole(instance))
    }

    func end() async {
        #expect(await instance.stop(deadlineMs: 5_000))
        #expect(services.faults == [])
    }

    static func delivery(
        _ id: UInt64, token: String = "0a1b", platform: String = "ios", badge: Int32? = nil,
        deadlineUnixMs: UInt64 = 0, _ content: SharedNotification
    ) -> SignalboxCore.Delivery {
        Delivery(
            id: id, eventID: 1, route: "r", sender: "s",
            stableID: "123e4567-e89b-42d3-a456-42661417400\(id % 10)", badge: badge,
            deadlineUnixMs: deadlineUnixMs, content: content,
            device: Device(platform: platform, token: token))
    }

    static func note(_ change: (inout PushNotification) -> Void) -> SharedNotification {
        var note = PushNotification()
        change(&note)
        return SharedNotification(note, receivedUnixMs: 0)
    }

    /// Offers a batch until the credential is available.
    func prepare(
        app: String = "", _ deliveries: [SignalboxCore.Delivery]
    ) async throws -> (requests: [RenderedRequest], settled: [Outcome]) {
        for _ in 0..<5_000 {
            switch role.prepare(app: app, deliveries: deliveries) {
            case .ready(let batch, let settled):
                return (batch.requests.map { RenderedRequest($0, in: batch) }, settled)
            case .failed(let fault): throw fault
            case .again: try await Task.sleep(for: .milliseconds(1))
            }
        }
        throw PluginRig.Failure(description: "the credential never came")
    }

    /// Renders one notification for one device.
    func render(
        platform: String = "ios", token: String = "0a1b", deadlineUnixMs: UInt64 = 0,
        _ change: (inout PushNotification) -> Void
    ) async throws -> RenderedRequest {
        let delivery = Self.delivery(
            1, token: token, platform: platform, deadlineUnixMs: deadlineUnixMs, Self.note(change))
        let (requests, settled) = try await prepare([delivery])
        #expect(settled.isEmpty, "\(settled.map(\.reason))")
        return try #require(requests.first)
    }

    /// The outcome of an answer.
    func outcome(
        _ status: UInt32, _ body: String, headers: [Attribute] = []
    ) throws -> Outcome {
        let (settled, _) = role.classify(
            app: "",
            responses: [
                HTTPResponse(status: status, headers: headers, body: Array(body.utf8), items: [9])
            ])
        let outcome = try #require(settled.first)
        #expect(outcome.item == 9)
        #expect(outcome.providerCode == status)
        return outcome
    }
}

/// A request as text.
struct RenderedRequest {
    var method: String
    var path: String
    var headers: [String: String] = [:]
    /// Headers that the peer's HPACK table does not keep.
    var unindexed: Set<String> = []
    var body: JSONValue
    var text: String
    var items: [UInt64]

    init(_ request: RequestBatch.Request, in batch: RequestBatch) {
        method = batch.text(request.method)
        path = batch.text(request.path)
        for (index, place) in request.headers.enumerated() {
            let header = batch.headers[Int(place)]
            let name = batch.text(header.name)
            headers[name] = batch.text(header.value)
            if request.unindexedHeaders >> UInt64(index) & 1 == 1 { unindexed.insert(name) }
        }
        text = batch.text(request.body)
        body = (try? JSONValue.parse(text)) ?? .null
        items = Array(batch.items[Int(request.items.lowerBound)..<Int(request.items.upperBound)])
    }
}

extension JSONValue {
    /// The text at a place; empty if there is none.
    func at(_ keys: String...) -> String {
        keys.reduce(JSONValue?.some(self)) { $0?[$1] }?.string ?? ""
    }
}
