internal import SignalboxConfig
internal import SignalboxCore
internal import SignalboxGateway
internal import SignalboxHTTP
internal import SignalboxJSON

/// Why a request to a running gateway failed.
struct AdminFault: Error, Sendable, CustomStringConvertible {
    /// What failed, and why.
    let description: String
    /// The status of the gateway's answer; nil without an answer.
    var status: UInt32?
    /// The faults that the gateway reported.
    var faults: [String] = []
    /// Nobody listens there.
    var isUnreachable = false
}

/// Asks the admin listener of a running gateway, for operators' commands. Never through a proxy, since it sends the
/// admin token.
final class AdminClient: Sendable {
    /// Largest answer: the metrics of thousands of apps are some megabytes.
    private static let answerBytesMax = 64 << 20

    /// Replaces `gateway.admin_token` of the file, which may be broken just now.
    private static let tokenVariable = "SIGNALBOX_ADMIN_TOKEN"

    private let client: RESTClient
    private let origin: String
    private let socket: String?
    private let token: String?
    /// What to do if the gateway refuses the token.
    private let tokenAdvice: String

    /// Asks the gateway with this configuration.
    init(_ config: GatewayConfig, _ options: GatewayOptions) throws {
        guard let admin = options.admin ?? config.gateway.admin else {
            throw AdminFault(
                description: "the gateway is running and has no admin listener to ask; set "
                    + "gateway.admin")
        }
        client = try RESTClient()
        origin = admin.path == nil ? "http://\(admin)" : "http://localhost"
        socket = admin.path
        token = options.environment.variables[Self.tokenVariable] ?? config.gateway.adminToken
        tokenAdvice = Self.advice(config, options)
    }

    /// Why a gateway would refuse the configured token.
    private static func advice(_ config: GatewayConfig, _ options: GatewayOptions) -> String {
        guard options.environment.variables[tokenVariable] == nil else {
            return "it has another gateway.admin_token than \(tokenVariable)"
        }
        guard config.given != nil else {
            return
                "\(config.file) cannot be read; set \(tokenVariable) to the gateway's admin token"
        }
        guard let given = config.given?["gateway"]?["admin_token"] else {
            return "\(config.file) has no gateway.admin_token"
        }
        guard config.gateway.adminToken?.isEmpty != false else {
            return "it has another gateway.admin_token than \(config.file)"
        }
        // Names the missing variable or file.
        let faults = GatewayConfig.load(config.file, environment: options.environment).diagnostics
        let fault = faults.first { $0.position == given.position && $0.code != "bad-value" }
        return "gateway.admin_token is empty: \(fault?.message ?? "its value is")"
    }

    /// Closes the client.
    func close() async { await client.close() }

    /// The gateway's answer to a call; nil without an admin listener or a gateway that answers there.
    static func askIfRunning(
        _ config: GatewayConfig, _ options: GatewayOptions, _ call: AdminCall,
        _ input: AdminInput = [:]
    ) async throws -> JSONValue? {
        guard options.admin ?? config.gateway.admin != nil else { return nil }
        do {
            return try await AdminClient(config, options).thenClosing {
                try await $0.ask(call, input)
            }
        } catch let fault as AdminFault where fault.isUnreachable {
            return nil
        }
    }

    /// Runs a body, then closes the client.
    fileprivate func thenClosing<T: Sendable>(
        _ body: (AdminClient) async throws -> T
    ) async throws -> T {
        let result: Result<T, any Error>
        do { result = .success(try await body(self)) } catch { result = .failure(error) }
        await close()
        return try result.get()
    }

    /// The text of a page that is also served while the gateway is not ready.
    func text(_ path: String) async throws -> String {
        let answer = try await send(RESTCall(method: "GET", url: origin + path))
        guard answer.status == 200 || answer.status == 503 else { throw fault(answer) }
        return String(decoding: answer.body, as: UTF8.self)
    }

    /// The answer to a call; throws unless it is 200. `suffix` follows the path, such as an id.
    func ask(
        _ call: AdminCall, _ input: AdminInput = [:], suffix: String = ""
    ) async throws -> JSONValue {
        let path = call.path.hasSuffix("*") ? String(call.path.dropLast()) : call.path
        let query = call.method == "GET" ? input.query : ""
        var request = RESTCall(
            method: call.method,
            url: origin + path + suffix + (query.isEmpty ? "" : "?\(query)"),
            body: call.method == "GET" ? [] : Array(input.body.utf8))
        request.timeoutMs = call.timeoutMs
        if call.method == "POST" {
            request.headers.append(Attribute("content-type", "application/json"))
        }
        let answer = try await send(request)
        guard answer.status == 200 else { throw fault(answer) }
        return (try? JSONValue.parse(answer.body)) ?? .null
    }

    private func send(_ call: RESTCall) async throws -> RESTAnswer {
        var call = call
        call.answerBytesMax = Self.answerBytesMax
        call.socket = socket
        if let token, !token.isEmpty {
            call.headers.append(Attribute("authorization", "Bearer \(token)"))
        }
        do {
            return try await client.answer(call)
        } catch let fault as RESTFault where fault.kind == .unreachable {
            throw AdminFault(
                description:
                    "no gateway answers at \(socket ?? origin): \(fault); if it is elsewhere, say where "
                    + "with --admin host:port", isUnreachable: true)
        }
    }

    private func fault(_ answer: RESTAnswer) -> AdminFault {
        let json = (try? JSONValue.parse(answer.body)) ?? .null
        var words =
            "the gateway answered \(answer.status): "
            + (json["detail"]?.string ?? "no reason given")
        if answer.status == 401 { words += "; \(tokenAdvice)" }
        return AdminFault(
            description: words, status: answer.status, faults: json["faults"]?.texts ?? [])
    }
}

extension GatewayOptions {
    /// Asks the running gateway once.
    func ask(
        _ call: AdminCall, _ input: AdminInput = [:], suffix: String = ""
    ) async throws -> JSONValue {
        try await AdminClient(try readableConfig(), self).thenClosing {
            try await $0.ask(call, input, suffix: suffix)
        }
    }
}
