import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxHTTP
import SignalboxJSON
import SignalboxSimulators
import Testing

/// Who changed what stays on record.
@Suite struct AuditTests {
    private static let client =
        "\ndevices: { clients: [ { name: crm, token: token-of-the-crm-1, app: com.a, scopes: [read, write] } ] }"

    private static func rig(_ audit: String) async throws -> GatewayRig {
        try await GatewayRig(config: { simulators in
            AdminTests.config(
                simulators, #", admin_token: "\#(AdminTests.token)"\#(audit)"#, "127.0.0.1:0")
                + client
        })
    }

    private static func register(_ rig: GatewayRig, token: String) async throws -> UInt32 {
        let body = #"{"user":"u","token":"device-token-1","platform":"ios"}"#
        return try await DeviceTests.call(rig, "POST", "/v1/devices", body, token: token).status
    }

    private static func pause(_ rig: GatewayRig, _ headers: [String]) async throws -> Int {
        try await AdminTests.ask(
            rig, "POST", "/pause",
            ["host: localhost", "content-type: application/json"] + headers,
            body: #"{"sender":"apns","by":"anna"}"#
        ).status
    }

    @Test func `each change is a line of the file, also after the file was rotated`() async throws {
        let rig = try await Self.rig(", audit: audit.log")
        let file = rig.folder.appending(path: "audit.log")
        func lines() throws -> [JSONValue] {
            try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
                .map { try JSONValue.parse(Array($0.utf8)) }
        }
        #expect(try await Self.pause(rig, []) == 401)
        #expect(try await Self.pause(rig, ["authorization: Bearer \(AdminTests.token)"]) == 200)
        #expect(try await Self.register(rig, token: "token-of-the-crm-1") == 200)
        #expect(try await Self.register(rig, token: "token-of-a-stranger") == 401)
        let gone = try await DeviceTests.call(
            rig, "DELETE", "/v1/devices?user=u", "", token: "token-of-the-crm-1")
        #expect(gone.status == 200)
        let all = try lines()
        func column(_ key: String) -> [String] { all.map { $0[key]?.string ?? "" } }
        #expect(
            column("action") == [
                "POST /pause", "POST /pause", "POST /v1/devices", "POST /v1/devices",
                "DELETE /v1/devices",
            ])
        #expect(column("caller") == ["", "admin", "crm", "", "crm"])
        #expect(column("result") == ["refused", "done", "done", "refused", "done"])
        #expect(all.compactMap { $0["status"]?.integer } == [401, 200, 200, 401, 200])
        #expect(Set(column("address")) == ["127.0.0.1"])
        #expect(all[1]["detail"]?.text == #"{"sender":"apns","by":"anna"}"#)
        // Whom it was about, as the log names them.
        #expect(all[2]["detail"]?["app"]?.string == "com.a")
        #expect(all[2]["detail"]?["user"]?.string?.count == 12)
        #expect(all[4]["detail"] == all[2]["detail"])
        #expect(column("time").allSatisfy { $0.hasPrefix("20") && $0.hasSuffix("Z") })
        let text = try String(contentsOf: file, encoding: .utf8)
        for secret in [AdminTests.token, "token-of-the-crm-1", "device-token-1"] {
            #expect(!text.contains(secret))
        }
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
        try FileManager.default.moveItem(at: file, to: rig.folder.appending(path: "audit.log.1"))
        _ = try await rig.gateway.reload()
        #expect(try lines().map { $0["action"]?.string } == ["reload"])
        let yaml = rig.folder.appending(path: "gateway.yaml")
        let changed = try String(contentsOf: yaml, encoding: .utf8)
            .replacing("token-of-the-crm-1", with: "token-of-the-crm-2")
        try changed.write(to: yaml, atomically: true, encoding: .utf8)
        let report = try await rig.gateway.reload()
        #expect(report.settings == ["devices"])
        let last = try #require(try lines().first { $0["action"]?.string != "reload" })
        #expect(last["action"]?.string == "configuration changed")
        #expect(last["detail"]?.text == #"{"settings":["devices"]}"#)
        await rig.end()
    }

    @Test func `strangers do not fill the file, and each of their requests is counted`()
        async throws
    {
        let rig = try await Self.rig(", audit: audit.log")
        for _ in 0..<30 {
            #expect(try await Self.register(rig, token: "token-of-a-stranger") == 401)
        }
        #expect(try await Self.register(rig, token: "token-of-the-crm-1") == 200)
        _ = await rig.gateway.stop()
        let file = rig.folder.appending(path: "audit.log")
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            .map { try JSONValue.parse(Array($0.utf8)) }
        let refused = lines.filter { $0["status"]?.integer == 401 }
        // The first, and the rest of each interval; the last when the gateway stops.
        #expect((2...10).contains(refused.count))
        #expect(refused.reduce(0) { $0 + ($1["count"]?.integer ?? 1) } == 30)
        #expect(lines.count { $0["status"]?.integer == 200 } == 1)
        await rig.end()
    }

    @Test func `the lines hold no token, no text and no name of whom is forgotten`() async throws {
        let rig = try await Self.rig(", audit: audit.log, log: { users: plain }")
        let push =
            #"{"via":"apns","token":"token-of-a-phone","notification":{"title":"Your PIN is 4711"}}"#
        for (path, body, status) in [
            ("/send", push, 200), ("/waiting/cancel", #"{"user":"person-11"}"#, 200),
            ("/forget", #"{"user":"person-12"}"#, 200), ("/forget", #"{"usr":"person-13"}"#, 400),
        ] {
            let answer = try await AdminTests.ask(
                rig, "POST", path,
                [
                    "host: localhost", "content-type: application/json",
                    "authorization: Bearer \(AdminTests.token)",
                ], body: body)
            #expect(answer.status == status, "\(answer.head)")
        }
        let text = try String(
            contentsOf: rig.folder.appending(path: "audit.log"), encoding: .utf8)
        #expect(text.contains(#""detail":{"via":"apns"}"#), "\(text)")
        #expect(!text.contains("token-of-a-phone") && !text.contains("4711"))
        // Else names are as the log has them.
        #expect(text.contains("person-11") && !text.contains("person-12"))
        #expect(text.contains(#""action":"POST /forget","caller":"admin""#))
        #expect(text.contains(#""user":""#))
        // What was not understood is recorded without its body.
        #expect(text.contains(#""detail":null"#) && !text.contains("person-13"))
        await rig.end()
    }

    /// Whatever the log leaves out, who changed what stays on record.
    @Test func `no level drops a change from the log of a gateway without a file`() async throws {
        let port = try OwnPort.take()
        let simulators = try await Simulators.start()
        let file = try ProgramTests.temporary(
            "gateway.yaml",
            AdminTests.config(
                simulators, ", log: { level: warning, format: json }", "127.0.0.1:\(port)"))
        let (process, pipe) = try ProgramTests.start(["run", "--config", file])
        func run(_ arguments: String...) async throws -> Int32 {
            try await ProgramTests.run(arguments + ["--config", file]).status
        }
        // Once it listens.
        var tries = 0
        while try await run("pause", "--sender", "apns") != 0 {
            tries += 1
            try #require(tries < 600)
        }
        #expect(try await run("export", "--user", "person-7") == 0)
        #expect(try await run("forget", "--user", "person-7") == 0)
        #expect(try await run("log-level", "error") == 0)
        #expect(try await run("resume", "--sender", "apns") == 0)
        process.terminate()
        let log = try await Tool.rest(pipe)
        #expect(try await Tool.end(process) == 0)
        await simulators.shutdown()
        let lines = log.split(separator: "\n").compactMap { try? JSONValue.parse(Array($0.utf8)) }
        let records = lines.filter { $0["logger"]?.string == "audit" }
        #expect(
            records.map { $0["action"]?.string ?? "" } == [
                "POST /pause", "GET /export", "POST /forget", "POST /log-level", "POST /resume",
            ], "\(log)")
        #expect(records.allSatisfy { $0["level"]?.string == "notice" })
        // A level that somebody changes is no fault.
        let change = lines.first { $0["message"]?.string == "log level changed" }
        #expect(change?["level"]?.string == "notice")
        #expect(change?["before"]?.string == "warning" && change?["after"]?.string == "error")
    }

    @Test func `without a file changes are in the log, and a file that fails is told of`()
        async throws
    {
        let rig = try await Self.rig("")
        #expect(try await Self.register(rig, token: "token-of-the-crm-1") == 200)
        let line = rig.log.all.first { $0.contains("logger=audit") }
        #expect(line?.contains("action=POST /v1/devices") == true, "\(line ?? "")")
        #expect(line?.contains("caller=crm") == true)
        _ = try await rig.gateway.reload(
            text: rig.text.replacing("drain: 5s", with: "drain: 5s, audit: missing/audit.log"))
        #expect(try await Self.register(rig, token: "token-of-the-crm-1") == 200)
        #expect(rig.gateway.metricsText.contains("signalbox_audit_failures_total 3"))
        #expect(rig.log.all.filter { $0.contains("cannot write the audit log") }.count == 1)
        await rig.end()
    }
}
