import SignalboxCore
import Testing

@testable import Signalbox
@testable import SignalboxConfig

@Suite struct PlanChangeTests {
    private func change(
        _ old: [String], _ new: [String], unchanged: Set<String> = [],
        _ edit: (inout GatewaySettings) -> Void = { _ in }
    ) -> PlanChange {
        var settings = GatewaySettings()
        edit(&settings)
        return PlanChange(
            from: old, to: new, settings: (GatewaySettings(), settings),
            isSame: { unchanged.contains($0) })
    }

    @Test func `an unchanged instance is kept and a changed one replaced`() {
        let change = change(["apns", "fcm"], ["apns", "fcm"], unchanged: ["apns"])
        #expect(change.kept == ["apns"])
        #expect(change.changed == ["fcm"])
    }

    @Test func `added and removed instances are changes, in order of their names`() {
        let change = change(["old", "apns"], ["new", "apns"], unchanged: ["apns", "old", "new"])
        #expect(change.kept == ["apns"])
        #expect(change.changed == ["new", "old"])
    }

    @Test func `a reload without a change keeps everything`() {
        let change = change(["apns"], ["apns"], unchanged: ["apns"])
        #expect(change.kept == ["apns"])
        #expect(change.changed.isEmpty)
        #expect(change.needRestart.isEmpty)
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
        let at = SourcePosition(file: "gateway.yaml", line: 1, column: 1)
        let edits: [(key: String, edit: (inout GatewaySettings) -> Void)] = [
            ("name", { $0.name = "other" }), ("listen", { $0.listen = nil }),
            ("admin", { $0.admin = nil }),
            ("tls", { $0.tls = TLSSettings(certificate: [1], key: [2], position: at) }),
            ("data", { $0.dataFolder = "/other" }), ("log", { $0.logLevel = "debug" }),
            ("log", { $0.logFormat = "json" }), ("log", { $0.logUsers = "none" }),
        ]
        for (key, edit) in edits { #expect(change([], [], edit).needRestart == [key]) }
    }

    @Test func `a setting is compared with what the process has started with, after any reload`() {
        func plan(_ level: String) -> GatewayPlan {
            var config = GatewayConfig(file: "gateway.yaml", folder: "/")
            config.gateway.logLevel = level
            return GatewayPlan(config: config, plugins: [], routes: [])
        }
        let (first, other) = (plan("info"), plan("debug"))
        let started = first.config.gateway
        func keys(_ old: GatewayPlan, _ new: GatewayPlan) -> [String] {
            PlanChange(from: old, to: new, started: started).needRestart
        }
        #expect(keys(first, other) == ["log"])
        #expect(keys(other, other) == ["log"])
        #expect(keys(other, first) == [])
    }

    @Test func `a setting that generations read needs no restart`() {
        let change = change([], []) {
            $0.drainMs = 1
            $0.dedupeMs = 1
            $0.adminToken = "secret"
            $0.adminHosts = ["ops"]
            $0.sources = ["app"]
        }
        #expect(change.needRestart.isEmpty)
    }
}
