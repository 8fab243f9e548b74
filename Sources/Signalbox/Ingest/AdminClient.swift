internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxHTTP
internal import SignalboxJSON

/// Why a question to a running gateway failed.
struct AdminFault: Error, Sendable, CustomStringConvertible {
    /// Names the thing and the reason.
    let description: String
    /// What the gateway answered; nil: nothing.
    var status: UInt32?
}

/// Asks the admin listener of a running gateway, for the commands of an operator.
final class AdminClient: Sendable {
    private let client: RESTClient
    private let origin: String
    private let token: String?

    /// Asks the gateway with this configuration.
    init(_ config: GatewayConfig, _ options: GatewayOptions) throws {
        guard let admin = options.admin ?? config.gateway.admin else {
            throw AdminFault(
                description: "the gateway is running and has no admin listener to ask; set "
                    + "gateway.admin")
        }
        let host = admin.host.contains(":") ? "[\(admin.host)]" : admin.host
        client = try RESTClient()
        origin = "http://\(host):\(admin.port)"
        token = config.gateway.adminToken
    }

    /// Ends the client.
    func close() async { await client.close() }

    /// The answer's JSON; throws unless it is 200.
    func ask(_ method: String, _ path: String, _ body: String = "") async throws -> JSONValue {
        var call = RESTCall(method: method, url: origin + path, body: Array(body.utf8))
        if method == "POST" { call.headers.append(Attribute("content-type", "application/json")) }
        if let token { call.headers.append(Attribute("authorization", "Bearer \(token)")) }
        let answer = try await client.answer(call)
        let json = (try? JSONValue.parse(answer.body)) ?? .null
        guard answer.status == 200 else {
            throw AdminFault(
                description: "the gateway answered \(answer.status): "
                    + (json["detail"]?.string ?? "no reason given"),
                status: answer.status)
        }
        return json
    }
}
