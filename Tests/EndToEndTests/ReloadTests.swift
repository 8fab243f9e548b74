import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxPluginHost
import SignalboxSimulators
import Synchronization
import Testing

/// A running gateway gets a new configuration and new plugin files.
@Suite struct ReloadTests {
    /// Clients that run until they are stopped.
    private final class Load: Sendable {
        private let state = Mutex((isDone: false, refused: 0))
        var isDone: Bool { state.withLock { $0.isDone } }
        var refused: Int { state.withLock { $0.refused } }
        func refuse() { state.withLock { $0.refused += 1 } }
        func end() { state.withLock { $0.isDone = true } }
    }

    /// A folder of plugins that a test may change.
    static func ownPlugins(_ names: [String]) throws -> URL {
        let folder = Workshop.place()
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for name in names {
            try FileManager.default.copyItem(
                atPath: try PluginRig.bundled(name), toPath: "\(folder.path)/lib\(name).so")
        }
        return folder
    }

    /// Replaces a file with a copy by an atomic rename, as an update does.
    static func renew(_ path: String) throws {
        try FileManager.default.copyItem(atPath: path, toPath: path + ".new")
        try #require(rename(path + ".new", path) == 0)
    }

    @Test func `a hundred reloads of all plugins under load lose nothing and send nothing twice`()
        async throws
    {
        let folder = try Self.ownPlugins(["Zendesk", "APNs", "FCM"])
        defer { try? FileManager.default.removeItem(at: folder) }
        let rig = try await GatewayRig(config: { simulators in
            GatewayRig.plugins(simulators)
                .replacingOccurrences(
                    of: "library: Zendesk", with: "library: \(folder.path)/libZendesk.so"
                )
                .replacingOccurrences(
                    of: "library: APNs", with: "library: \(folder.path)/libAPNs.so"
                )
                .replacingOccurrences(of: "library: FCM", with: "library: \(folder.path)/libFCM.so")
                + "\n" + GatewayRig.routes
        })
        let load = Load()
        let sent = try await withThrowingTaskGroup(of: Int.self) { group in
            for client in 0..<4 {
                group.addTask {
                    var count = 0
                    while !load.isDone {
                        let name = "\(client)-\(count)"
                        let answer = try await rig.post(
                            GatewayRig.webhook([("ios", "i\(name)"), ("android", "a\(name)")]))
                        if answer.status == 200 { count += 1 } else { load.refuse() }
                    }
                    return count
                }
            }
            for _ in 0..<100 {
                for name in ["Zendesk", "APNs", "FCM"] {
                    try Self.renew("\(folder.path)/lib\(name).so")
                }
                let report = try await rig.gateway.reload()
                #expect(report.changed == ["apns", "fcm", "z"])
                #expect(report.leftBehind == [])
            }
            load.end()
            return try await group.reduce(0, +)
        }
        #expect(load.refused == 0)
        #expect(sent > 0)
        let ios = await rig.delivered(rig.simulators.apns, sent)
        let android = await rig.delivered(rig.simulators.fcm, sent)
        #expect(Set(ios).count == sent && ios.count == sent)
        #expect(Set(android).count == sent && android.count == sent)
        #expect(rig.log.all.filter { $0.contains("breaks the contract") } == [])
        await rig.end()
    }

    @Test func `what has not changed goes on: same connection, same instance`() async throws {
        let second = "\n  - { name: second, from: z, when: { type: other }, send: { ios: apns } }"
        let rig = try await GatewayRig(config: { GatewayRig.yaml($0) + second })
        try await rig.post(GatewayRig.webhook([("ios", "one")]))
        #expect(await rig.delivered(rig.simulators.apns, 1) == ["one"])
        let report = try await rig.gateway.reload()
        #expect(report.changed == [])
        try await rig.post(GatewayRig.webhook([("ios", "two")]))
        #expect(await rig.delivered(rig.simulators.apns, 2) == ["one", "two"])
        let ups = rig.log.all.filter {
            $0.contains("push connection") && $0.contains("connected")
        }
        #expect(ups.filter { $0.contains("plugin.instance=apns") }.count == 1)
        // A file that was cut off is named by what it lacks.
        try rig.write(GatewayRig.yaml(rig.simulators))
        #expect(try await rig.gateway.reload().removed == [#"route "second""#])
        let line = rig.log.all.first { $0.contains("lacks what the previous one had") }
        #expect(line?.contains(#"count=1 removed=route "second""#) == true)
        try rig.write(GatewayRig.yaml(rig.simulators) + second)
        #expect(try await rig.gateway.reload().removed == [])
        await rig.end()
    }
}
