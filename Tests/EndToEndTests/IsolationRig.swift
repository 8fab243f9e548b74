import Foundation
import PluginRig
import Signalbox
import SignalboxHTTP
import SignalboxPluginHost
import SignalboxSimulators
import Testing

/// Bundled plugins in separate processes that a test can kill in the middle of a call.
final class Saboteur: Sendable {
    let folder: URL
    let isolation: String

    init(isolation: String = "process") throws {
        self.isolation = isolation
        folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    /// A library that does what a bundled one does, until it is armed.
    func library(
        of name: String, change: (String) -> String = { $0 }
    ) async throws -> String {
        let source = try String(
            contentsOf: PluginRig.root.appending(path: "Tests/Fixtures/Isolation/shim.c"),
            encoding: .utf8)
        return try await PluginRig.compile(
            change(source).replacingOccurrences(of: "@INNER@", with: try PluginRig.bundled(name))
                .replacingOccurrences(of: "@FOLDER@", with: folder.path))
    }

    /// Makes the next such call end the process: SEGV, ABRT, EXIT or LOOP.
    func arm(_ place: String, _ how: String) throws {
        try Data(how.utf8).write(to: folder.appending(path: place), options: .atomic)
    }

    /// Whether the armed call has happened.
    func hasStruck(_ place: String) -> Bool {
        !FileManager.default.fileExists(atPath: folder.appending(path: place).path)
    }

    /// The plugins of `GatewayRig`, all isolated; these are saboteurs.
    func plugins(
        _ simulators: Simulators, _ names: [String] = ["Zendesk", "APNs"]
    ) async throws -> String {
        plugins(simulators, try await libraries(names))
    }

    /// The library files of the saboteurs.
    func libraries(_ names: [String]) async throws -> [String: String] {
        var libraries: [String: String] = [:]
        for name in names { libraries[name] = try await library(of: name) }
        return libraries
    }

    func plugins(_ simulators: Simulators, _ libraries: [String: String]) -> String {
        var text = GatewayRig.plugins(simulators)
        for name in ["Zendesk", "APNs", "FCM"] {
            let library = libraries[name] ?? name
            let isolated = "library: \(library), isolation: \(isolation)"
            text = text.replacingOccurrences(of: "library: \(name),", with: "\(isolated),")
                .replacingOccurrences(
                    of: "library: \(name)\n",
                    with: "library: \(library)\n    isolation: \(isolation)\n")
        }
        return text
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}

extension GatewayRig {
    /// A gateway whose plugins run in processes of their own.
    convenience init(
        _ saboteur: Saboteur, plugins: [String] = ["Zendesk", "APNs"],
        change: @escaping (inout IsolationOptions) -> Void = { _ in }
    ) async throws {
        let libraries = try await saboteur.libraries(plugins)
        try await self.init(
            change: { options in
                // Short enough for a test on a busy machine.
                options.isolation.patienceMs = 60_000
                options.isolation.waitMaxMs = 200
                change(&options.isolation)
            },
            config: { simulators in
                saboteur.plugins(simulators, libraries) + "\n" + GatewayRig.routes
            })
    }

    /// A number from /metrics; 0 if missing.
    func metric(_ name: String) async throws -> Int {
        let text = String(decoding: try await admin("/metrics").body, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Int($0.split(separator: " ").last ?? "") } ?? 0
    }

    /// Posts until the answer is 200, like a source that is told to retry.
    func insist(_ body: String) async throws -> [UInt32] {
        var statuses: [UInt32] = []
        while statuses.last != 200, statuses.count < 2_000 {
            let answer = try await post(body)
            statuses.append(answer.status)
            if answer.status == 503 {
                #expect(answer.headers.contains { $0.key == "retry-after" })
            }
        }
        return statuses
    }
}
