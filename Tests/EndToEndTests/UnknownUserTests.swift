import Foundation
import PluginRig
import Signalbox
import SignalboxCore
import SignalboxJSON
import Testing

@Suite struct UnknownUserTests {
    private static func lines(_ flow: RegistryRig, _ words: String) -> [String] {
        flow.rig.log.all.filter { $0.contains(words) }
    }

    @Test func `thousands of users without a device make one line, with a count`() async throws {
        let flow = try await RegistryRig(gateway: ", log: { users: none }")
        try await flow.notify((0..<3_000).map { "u\($0)" })
        let lines = Self.lines(flow, "left out")
        #expect(lines.count == 1, "\(lines)")
        #expect(lines.first?.contains("recipients left out count=3000 ") == true, "\(lines)")
        #expect(Self.lines(flow, "user=").isEmpty)
        let metrics = flow.rig.metrics
        #expect(metrics.contains(#"{route="hello",reason="unknown_user"} 3000"#))
        await flow.rig.end()
    }

    @Test func `a hashed name is the same after a restart, another in another database`()
        async throws
    {
        func name(_ flow: RegistryRig, _ user: String) async throws -> String {
            try await flow.notify([user])
            let line = Self.lines(flow, "recipient left out").last ?? ""
            let name = line.split(separator: "user=").last.map { String($0) } ?? ""
            #expect(name.count == 12 && name.allSatisfy(\.isHexDigit), "\(line)")
            let listed = try await flow.call("GET", "/v1/devices?user=\(user)")
            #expect(listed.json["log_name"]?.string == name)
            return name
        }
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        var names: [String] = []
        for place in [folder.path, folder.path, nil] {
            let flow = try await RegistryRig(change: { options in
                if let place { options.dataFolder = place }
            })
            names.append(try await name(flow, "kim@example.com"))
            #expect(try await name(flow, "sam") != names.last)
            #expect(!flow.rig.log.all.contains { $0.contains("kim@example.com") })
            await flow.rig.end()
        }
        #expect(names[0] == names[1] && names[1] != names[2])
    }
}
