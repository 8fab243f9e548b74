import Foundation
import SignalboxCore
import SignalboxJSON

/// A Matrix homeserver of its own for the tests of this process.
///
/// It is stopped and removed when the process has ended, however that came about.
package final class SynapseServer: Sendable {
    /// `http://127.0.0.1:PORT`.
    package let origin: String
    private let folder: String

    /// A user who is logged in.
    package struct User: Sendable {
        package let id: String
        package let token: String
    }

    package init() async throws {
        let port = try OwnPort.take()
        origin = "http://127.0.0.1:\(port)"
        folder = "/tmp/sbx-synapse-\(UUID().uuidString.prefix(8))"
        let output = Pipe()
        let script = PluginRig.root.appending(path: "Tests/PluginRig/synapse-server.sh").path
        _ = try Program(
            [script, folder, "\(ProcessInfo.processInfo.processIdentifier)", "\(port)"],
            at: PluginRig.root, output: output, errors: .init())
        let said = try await Tool.next(output)
        guard said.hasPrefix("ready") else {
            throw PluginRig.Failure(
                description: "Synapse did not start: \(said)\(try await Tool.rest(output))")
        }
    }

    /// The end of its log, for people who look for a failure.
    package var log: String {
        let text = (try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(30).joined(separator: "\n")
    }

    /// Calls its client API; fails unless it answers 200.
    @discardableResult
    package func call(
        _ method: String, _ path: String, _ body: String = "{}", as user: User? = nil
    ) async throws -> JSONValue {
        var command = [
            "curl", "-sS", "--max-time", "60", "-X", method, "-w", "\n%{http_code}",
            "-H", "content-type: application/json",
        ]
        if method != "GET" { command += ["--data", body] }
        if let user { command += ["-H", "authorization: Bearer \(user.token)"] }
        let text = try await Tool.output(command + ["\(origin)/_matrix/client/v3\(path)"])
        guard text.hasSuffix("\n200") else {
            throw PluginRig.Failure(description: "\(method) \(path): \(text)\n\(log)")
        }
        return try JSONValue.parse(String(text.dropLast(4)))
    }

    /// Registers a user.
    package func register(_ name: String) async throws -> User {
        let json = try await call(
            "POST", "/register",
            #"{"username":"\#(name)","password":"of-a-test-1","auth":{"type":"m.login.dummy"}}"#)
        guard let id = json["user_id"]?.string, let token = json["access_token"]?.string else {
            throw PluginRig.Failure(description: "no user: \(json.text)")
        }
        return User(id: id, token: token)
    }

    /// A room of two users.
    package func room(of owner: User, with guest: User, name: String) async throws -> String {
        let json = try await call(
            "POST", "/createRoom",
            #"{"preset":"private_chat","name":"\#(name)","invite":["\#(guest.id)"]}"#, as: owner)
        guard let room = json["room_id"]?.string else {
            throw PluginRig.Failure(description: "no room: \(json.text)")
        }
        try await call("POST", "/rooms/\(room)/join", as: guest)
        return room
    }

    /// Sends a message. Returns the event's id.
    @discardableResult
    package func say(_ text: String, in room: String, as user: User) async throws -> String {
        let json = try await call(
            "PUT", "/rooms/\(room)/send/m.room.message/\(UUID().uuidString)",
            #"{"msgtype":"m.text","body":"\#(text)"}"#, as: user)
        return json["event_id"]?.string ?? ""
    }

    /// Has pushes for a user sent to a gateway.
    package func setPusher(
        _ pushkey: String, appID: String, gateway: String, data: String = "", for user: User
    ) async throws {
        try await call(
            "POST", "/pushers/set",
            #"""
            {"kind":"http","app_id":"\#(appID)","pushkey":"\#(pushkey)","lang":"en",
            "app_display_name":"a","device_display_name":"d","append":true,
            "data":{"url":"\#(gateway)/_matrix/push/v1/notify"\#(data)}}
            """#, as: user)
    }

    /// The pushkeys of a user's pushers.
    package func pushkeys(of user: User) async throws -> [String] {
        guard case .array(let list)? = try await call("GET", "/pushers", as: user)["pushers"]
        else { return [] }
        return list.compactMap { $0["pushkey"]?.string }
    }
}
