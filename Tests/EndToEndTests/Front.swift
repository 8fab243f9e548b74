import Foundation
import PluginRig
import Synchronization
import Testing

/// A real balancer with its file of deploy/.
final class Front: Sendable {
    enum Balancer: String, CaseIterable, Sendable, CustomStringConvertible {
        case haproxy, nginx
        var description: String { rawValue }
    }

    private let process: Program
    private let pipe: Pipe
    private let output = Mutex("")

    /// The end of what it logged.
    var said: String { output.withLock { $0 } }

    /// Starts the balancer with the file of deploy/, in which the addresses are replaced and nothing else; `requestMs`: how
    /// long it waits for a request, instead of what the file says.
    init(
        _ balancer: Balancer, port: Int, _ gateways: [(port: Int, admin: Int)],
        requestMs: Int? = nil
    ) throws {
        let name = balancer == .haproxy ? "haproxy.cfg" : "nginx.conf"
        var text = try String(
            contentsOf: PluginRig.root.appending(path: "deploy/\(name)"), encoding: .utf8)
        func replace(_ old: String, _ new: String, if applies: Bool = true) {
            guard applies else { return }
            #expect(text.contains(old), "deploy/\(name) has no \(old)")
            text = text.replacing(old, with: new)
        }
        replace("bind :8080", "bind 127.0.0.1:\(port)", if: balancer == .haproxy)
        replace("listen 8080;", "listen 127.0.0.1:\(port);", if: balancer == .nginx)
        if let requestMs {
            replace("http-request 10s", "http-request \(requestMs)ms", if: balancer == .haproxy)
            for part in balancer == .nginx ? ["header", "body"] : [] {
                replace("client_\(part)_timeout 10s", "client_\(part)_timeout \(requestMs)ms")
            }
        }
        // The third one never runs.
        let none = try OwnPort.take()
        for number in 1...3 {
            let gateway = number <= gateways.count ? gateways[number - 1] : nil
            let (listen, admin) = (gateway?.port ?? none, gateway?.admin ?? none)
            replace("10.0.0.1\(number):8080", "127.0.0.1:\(listen)")
            replace(
                "127.0.0.1:\(listen) check port 8081", "127.0.0.1:\(listen) check port \(admin)",
                if: balancer == .haproxy)
        }
        let file = try ProgramTests.temporary(name, text)
        let pipe = Pipe()
        let command =
            balancer == .haproxy
            ? ["/usr/sbin/haproxy", "-db", "-f", file]
            : ["/usr/sbin/nginx", "-e", "stderr", "-c", try Self.frame(file)]
        process = try Program(command, at: PluginRig.root, output: pipe, errors: pipe)
        self.pipe = pipe
        pipe.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let text = String(decoding: handle.availableData, as: UTF8.self)
            self?.output.withLock { $0 = String(($0 + text).suffix(2_000)) }
        }
    }

    func end() async throws {
        process.terminate()
        _ = try await Tool.end(process)
        pipe.fileHandleForReading.readabilityHandler = nil
    }

    /// Debian's nginx.conf in short, with folders that any user may write to.
    private static func frame(_ file: String) throws -> String {
        let folder = try Workshop.folder().path
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
            "\($0)_temp_path \(folder)/\($0);"
        }
        return try ProgramTests.temporary(
            "frame.conf",
            """
            daemon off;
            pid \(folder)/pid;
            events { worker_connections 1024; }
            http { access_log off; \(paths.joined(separator: " ")) include \(file); }
            """)
    }
}
