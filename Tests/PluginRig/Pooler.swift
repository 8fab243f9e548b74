import Foundation

/// PgBouncer in transaction mode before a server.
package struct Pooler: Sendable {
    private let folder: String

    package init(before server: PostgresServer) async throws {
        folder = "/tmp/sbx-pool-\(UUID().uuidString.prefix(8))"
        let output = Pipe()
        let script = PluginRig.root.appending(path: "Tests/PluginRig/pooler.sh").path
        _ = try Program(
            [script, folder, "\(ProcessInfo.processInfo.processIdentifier)", server.folder],
            at: PluginRig.root, output: output, errors: .init())
        let said = try await Tool.next(output)
        guard said.hasPrefix("ready") else {
            throw PluginRig.Failure(description: "PgBouncer did not start: \(said)")
        }
    }

    /// For `gateway.store.postgres`.
    package func address(of database: PostgresDatabase) -> String {
        "postgres://signalbox@\(folder.replacing("/", with: "%2F")):6432/\(database.name)"
    }
}
