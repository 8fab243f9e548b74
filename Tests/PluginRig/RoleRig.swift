import Foundation
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import SignalboxPluginHost

/// A bundled plugin under test, with its roles.
package final class RoleRig: Sendable {
    package let services: RigServices
    package let instance: PluginInstance
    package let ingest: IngestRole?
    package let builder: BuildRole?
    package let register: RegisterRole?

    package init(
        _ plugin: String, config: String, services: RigServices = RigServices()
    ) async throws {
        self.services = services
        instance = try await PluginRig.bundledInstance(
            plugin, config: config, services: services)
        ingest = try await IngestRole(instance, limits: Limits())
        builder = BuildRole(instance)
        register = RegisterRole(instance)
    }

    /// Ends the instance. Returns its violations of the contract.
    package func end() async -> [String] {
        // Only one that hangs takes so long, on a busy machine as well.
        let isStopped = await instance.stop(deadlineMs: 30_000)
        return services.faults + (isStopped ? [] : ["it did not stop"])
    }

    /// Runs a request through the plugin.
    package func handle(
        _ body: [UInt8], path: String, method: String = "POST", pattern: String? = nil,
        params: [Attribute] = [], headers: [(String, String)] = [], certificate: String = ""
    ) async -> IngestResult {
        var request = IngestRequest(
            method: method, path: path, pattern: pattern ?? path, body: body,
            receivedUnixMs: services.nowUnixMs)
        request.headers = headers.map { Attribute($0.0, $0.1) }
        request.params = params
        request.clientCertificate = certificate
        let once = Once<IngestResult>()
        ingest?.handle(request) { once.set($0) }
        return await once.value() ?? IngestResult()
    }

    package func handle(
        _ body: String, path: String, method: String = "POST", pattern: String? = nil,
        params: [Attribute] = [], headers: [(String, String)] = [], certificate: String = ""
    ) async -> IngestResult {
        await handle(
            Array(body.utf8), path: path, method: method, pattern: pattern, params: params,
            headers: headers, certificate: certificate)
    }

    /// Builds notifications from an event.
    package func build(
        _ event: Event, _ recipients: [Recipient], options: String = "{}"
    ) throws -> BuildResult {
        guard let builder else { throw PluginRig.Failure(description: "it has no build role") }
        return try builder.build(
            event, recipients: recipients, route: "r", options: JSONText(options)
        )
        .get()
    }

    /// Prepares changes of devices. Returns requests as text, and outcomes.
    package func prepare(
        app: String = "", _ changes: [DeviceChange]
    ) throws -> (requests: [WebRequest], settled: [Outcome]) {
        guard let register else {
            throw PluginRig.Failure(description: "it has no register role")
        }
        let deliveries = changes.enumerated().map { index, change in
            Delivery(
                id: UInt64(index + 1), eventID: 1, route: "", sender: "s", stableID: "x",
                deadlineUnixMs: 0, content: change.carrier(receivedUnixMs: 0), device: change.device
            )
        }
        switch register.prepare(app: app, deliveries: deliveries) {
        case .ready(let batch, let settled):
            return (batch.requests.map { WebRequest($0, in: batch) }, settled)
        case .again: throw PluginRig.Failure(description: "again")
        case .failed(let fault): throw fault
        }
    }

    package func classify(
        app: String = "", _ status: UInt32, _ body: String, items: [UInt64] = [1],
        headers: [Attribute] = []
    ) throws -> (settled: [Outcome], requests: [WebRequest]) {
        guard let register else {
            throw PluginRig.Failure(description: "it has no register role")
        }
        let (settled, batch) = register.classify(
            app: app,
            responses: [
                HTTPResponse(
                    status: status, headers: headers, body: Array(body.utf8), items: items)
            ])
        return (settled, batch.requests.map { WebRequest($0, in: batch) })
    }
}

/// A request as text.
package struct WebRequest: Sendable {
    package var method: String
    package var path: String
    package var headers: [String: String] = [:]
    package var body: JSONValue
    package var text: String
    package var items: [UInt64]

    package init(_ request: RequestBatch.Request, in batch: RequestBatch) {
        method = batch.text(request.method)
        path = batch.text(request.path)
        for header in batch.headers[
            Int(request.headers.lowerBound)..<Int(request.headers.upperBound)]
        {
            headers[batch.text(header.name)] = batch.text(header.value)
        }
        text = batch.text(request.body)
        body = (try? JSONValue.parse(text)) ?? .null
        items = Array(batch.items[Int(request.items.lowerBound)..<Int(request.items.upperBound)])
    }
}

extension PluginRig {
    /// A fixture's text, without its last line break.
    package static func fixture(_ path: String) throws -> String {
        let text = try String(
            contentsOf: root.appending(path: "Tests/Fixtures/\(path)"), encoding: .utf8)
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }
}
