import Foundation
import PluginRig
import SignalboxCore
import SignalboxJSON

/// Three servers of NATS with JetStream, as a cluster, on free ports.
final class NATSCluster: @unchecked Sendable {
    struct Node {
        let port: Int
        let command: [String]
        var process: Program
        var pipe: Pipe
    }

    private(set) var nodes: [Node] = []

    init(count: Int = 3) throws {
        let ports = try (0..<count).map { _ in (try OwnPort.take(), try OwnPort.take()) }
        let routes = ports.map { "nats://127.0.0.1:\($0.1)" }.joined(separator: ",")
        for (index, (port, route)) in ports.enumerated() {
            let folder = try Workshop.folder().path
            var command = [
                "/usr/sbin/nats-server", "-a", "127.0.0.1", "-p", "\(port)", "-n", "node\(index)",
                "-js", "-sd", folder,
            ]
            if count > 1 {
                command += [
                    "-cluster_name", "test", "-cluster", "nats://127.0.0.1:\(route)", "-routes",
                    routes,
                ]
            }
            let (process, pipe) = try Self.start(command)
            nodes.append(Node(port: port, command: command, process: process, pipe: pipe))
        }
    }

    private static func start(_ command: [String]) throws -> (Program, Pipe) {
        let pipe = Pipe()
        let process = try Program(command, at: PluginRig.root, output: pipe, errors: pipe)
        pipe.fileHandleForReading.readabilityHandler = { _ = $0.availableData }
        return (process, pipe)
    }

    /// `["nats://127.0.0.1:1234", ...]`, for the configuration.
    var servers: String {
        "[" + nodes.map { "\"nats://127.0.0.1:\($0.port)\"" }.joined(separator: ", ") + "]"
    }

    func kill(_ index: Int) async throws {
        Foundation.kill(nodes[index].process.processIdentifier, SIGKILL)
        _ = try await Tool.end(nodes[index].process)
        nodes[index].pipe.fileHandleForReading.readabilityHandler = nil
    }

    func restart(_ index: Int) throws {
        let (process, pipe) = try Self.start(nodes[index].command)
        nodes[index].process = process
        nodes[index].pipe = pipe
    }

    /// Makes a stream, as soon as the cluster has a leader.
    func stream(_ name: String, subjects: String) async throws {
        let replicas = nodes.count
        let body =
            #"{"name":"\#(name)","subjects":["\#(subjects)"],"num_replicas":\#(replicas),"storage":"file"}"#
        for _ in 0..<1_200 {
            let answer = try? await ask("$JS.API.STREAM.CREATE.\(name)", body)
            if answer?["config"] != nil { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw PluginRig.Failure(description: "the cluster makes no stream")
    }

    /// Publishes until a stream has it.
    func publish(_ subject: String, _ body: String) async throws {
        for _ in 0..<1_200 {
            if let answer = try? await ask(subject, body), answer["seq"] != nil { return }
            try await Task.sleep(for: .milliseconds(20))
        }
        throw PluginRig.Failure(description: "no stream takes a message")
    }

    /// Asks a server that answers, within two seconds.
    func ask(_ subject: String, _ body: String) async throws -> JSONValue {
        for node in nodes {
            guard let client = try? RawClient(port: node.port) else { continue }
            client.limitReads(seconds: 2)
            let bytes = body.utf8.count
            client.send(
                "CONNECT {\"verbose\":false}\r\nSUB inbox 1\r\n"
                    + "PUB \(subject) inbox \(bytes)\r\n\(body)\r\nPING\r\n")
            let text = await client.read { Self.message(in: $0) != nil }
            guard let answer = Self.message(in: text) else { continue }
            return try JSONValue.parse(answer)
        }
        throw PluginRig.Failure(description: "no server answers")
    }

    /// The body of the message in what a server has sent.
    private static func message(in text: String) -> String? {
        guard let head = text.firstMatch(of: #/MSG inbox 1 +(?:\S+ )?(\d+)\r\n/#),
            let count = Int(head.output.1)
        else { return nil }
        let rest = text[head.range.upperBound...].utf8
        guard rest.count >= count + 2 else { return nil }
        return String(decoding: rest.prefix(count), as: UTF8.self)
    }

    func end() async {
        for node in nodes {
            Foundation.kill(node.process.processIdentifier, SIGKILL)
            _ = try? await Tool.end(node.process)
            node.pipe.fileHandleForReading.readabilityHandler = nil
        }
    }
}
