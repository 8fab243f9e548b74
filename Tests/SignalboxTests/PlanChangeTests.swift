import SignalboxCore
import Testing

@testable import Signalbox
@testable import SignalboxConfig
@testable import SignalboxGateway

@Suite struct PlanChangeTests {
    private typealias Names = ReloadReport.Names

    private func change(
        _ old: [String], _ new: [String], unchanged: Set<String> = [],
        started: GatewaySettings = GatewaySettings(),
        _ edit: (inout GatewaySettings) -> Void = { _ in }
    ) -> PlanChange {
        var settings = GatewaySettings()
        edit(&settings)
        return PlanChange(
            plugins: Names(from: old, to: new, isSame: unchanged.contains),
            routes: Names(from: [], to: [], isSame: { _ in true }), from: started, to: settings,
            started: started)
    }

    @Test func `an unchanged instance is kept and a changed one replaced`() {
        let change = change(["apns", "fcm"], ["apns", "fcm"], unchanged: ["apns"])
        #expect(change.kept == ["apns"])
        #expect(change.plugins.changed == ["fcm"])
        #expect(change.plugins.isChange)
    }

    @Test func `added and removed instances are told apart, in order of their names`() {
        let change = change(
            ["old", "apns"], ["new", "apns", "b"], unchanged: ["apns", "old", "new"])
        #expect(change.kept == ["apns"])
        #expect(change.plugins.added == ["b", "new"])
        #expect(change.plugins.removed == ["old"])
        #expect(change.plugins.changed.isEmpty)
    }

    @Test func `a reload without a change keeps everything`() {
        let change = change(["apns"], ["apns"], unchanged: ["apns"])
        #expect(change.kept == ["apns"])
        #expect(!change.plugins.isChange)
        #expect(change.settings.isEmpty && change.needRestart.isEmpty)
    }

    @Test func `lanes end with their instance, for pushes and for reports`() {
        let change = change(["apns", "desk"], ["apns", "desk"], unchanged: ["apns"])
        #expect(!change.retires(LaneKey(sender: "apns", app: "com.a")))
        #expect(change.retires(LaneKey(sender: "desk", app: "")))
        #expect(change.retires(LaneKey(sender: "desk", app: "", kind: .report)))
        #expect(!change.retires(LaneKey(sender: "apns", app: "com.a", kind: .report)))
    }

    @Test func `a new instance named like an old lane's takes no lane along`() {
        // The lane of a removed instance ends, whatever else is added.
        #expect(change(["a"], ["b"]).retires(LaneKey(sender: "a", app: "")))
    }

    @Test func `a setting that is read once needs a restart`() {
        let edits: [(key: String, edit: (inout GatewaySettings) -> Void)] = [
            ("name", { $0.name = "other" }), ("listen", { $0.listen = nil }),
            ("admin", { $0.admin = nil }),
            ("data", { $0.dataFolder = "/other" }),
            ("log", { $0.logFormat = "json" }), ("log", { $0.logUsers = "none" }),
        ]
        for (key, edit) in edits {
            let change = change([], [], edit)
            #expect(change.needRestart == [key])
            #expect(change.settings.isEmpty)
        }
    }

    @Test func `every key of gateway says when it is in effect`() throws {
        let known = Set(
            Setting.all.compactMap { $0.key.split(separator: ".").first.map(String.init) })
        let gateway = try #require(ConfigSection.all.first { $0.heading == "gateway" })
        #expect(Set(gateway.keys.map(\.name)).subtracting(known) == [])
    }

    @Test func `a setting is compared with what the process has started with, after any reload`() {
        func plan(_ format: String) -> GatewayPlan {
            var config = GatewayConfig(file: "gateway.yaml", folder: "/")
            config.gateway.logFormat = format
            return GatewayPlan(config: config, plugins: [], routes: [])
        }
        let (first, other) = (plan("text"), plan("json"))
        let started = first.config.gateway
        func keys(_ old: GatewayPlan, _ new: GatewayPlan) -> [String] {
            PlanChange(from: old, to: new, started: started).needRestart
        }
        #expect(keys(first, other) == ["log"])
        #expect(keys(other, other) == ["log"])
        #expect(keys(other, first) == [])
    }

    @Test func `other settings are in effect with the reload, certificates too`() {
        let at = SourcePosition(file: "gateway.yaml", line: 1, column: 1)
        let edits: [(key: String, edit: (inout GatewaySettings) -> Void)] = [
            ("drain", { $0.drainMs = 1 }), ("log.level", { $0.logLevel = "debug" }),
            ("dedupe", { $0.dedupeMs = 1 }),
            ("admin_token", { $0.adminToken = "secret" }),
            ("admin_hosts", { $0.adminHosts = ["a"] }),
            ("sources", { $0.sources = ["app"] }), ("watch", { $0.watch = true }),
            ("tls", { $0.tls = TLSSettings(certificate: [1], key: [2], position: at) }),
        ]
        for (key, edit) in edits {
            let change = change([], [], edit)
            #expect(change.settings == [key])
            #expect(change.needRestart.isEmpty)
        }
        var started = GatewaySettings()
        started.tls = TLSSettings(certificate: [1], key: [2], position: at)
        let renewed = change([], [], started: started) {
            $0.tls = TLSSettings(certificate: [3], key: [4], position: at)
        }
        #expect(renewed.settings == ["tls"])
        #expect(change([], [], started: started) { $0.tls = started.tls }.settings.isEmpty)
        #expect(change([], [], started: started).settings == ["tls"])
    }
}
