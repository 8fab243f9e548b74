import Foundation

/// The Rust code, built by cargo in the build folder.
package enum RustRig {
    /// The folder for cargo's output.
    package static let target = PluginRig.root.appending(path: ".build/cargo").path

    /// The bundled plugins, built once per process.
    private static let plugins = Task.detached {
        // The folder of the plugins that SwiftPM has built.
        let folder = URL(filePath: try PluginRig.bundled("APNs")).deletingLastPathComponent()
        try await tool(["scripts/rust-plugins.sh", "debug", folder.path])
    }

    /// Builds the bundled plugins, unless they are built.
    package static func plugins() async throws { _ = try await plugins.value }

    /// Runs a tool at the root; a failure contains all of its output.
    @discardableResult
    package static func tool(_ arguments: [String]) async throws -> String {
        let ended = try await Tool.run(arguments)
        guard ended.status == 0 else {
            throw PluginRig.Failure(
                description: "\(arguments.joined(separator: " ")) failed:\n\(ended.text)")
        }
        return ended.text
    }

    /// Creates and builds a project from a template, as an author does. Returns its library.
    package static func template(_ role: String, name: String) async throws -> String {
        let kit = PluginRig.root.appending(path: "Sources/RustPluginKit")
        return try await project(kit.appending(path: "templates/\(role)"), name: name)
    }

    /// Copies a project, fills in its placeholders, and builds it; a warning is a failure.
    package static func project(_ source: URL, name: String) async throws -> String {
        let kit = PluginRig.root.appending(path: "Sources/RustPluginKit").path
        // Always the same folder, so that cargo reuses it.
        let project = URL(filePath: target).appending(path: "projects/\(name)")
        for file in ["Cargo.toml", "src/lib.rs"] {
            let text = try String(contentsOf: source.appending(path: file), encoding: .utf8)
                .replacingOccurrences(of: "@NAME@", with: name)
                .replacingOccurrences(of: "@ID@", with: name.lowercased())
                .replacingOccurrences(of: "@SDK@", with: kit)
            let copy = project.appending(path: file)
            guard (try? String(contentsOf: copy, encoding: .utf8)) != text else { continue }
            try FileManager.default.createDirectory(
                at: copy.deletingLastPathComponent(), withIntermediateDirectories: true)
            try text.write(to: copy, atomically: true, encoding: .utf8)
        }
        let output = try await tool([
            "cargo", "build", "--offline", "--manifest-path",
            project.appending(path: "Cargo.toml").path, "--target-dir", target,
        ])
        guard !output.contains("warning") else {
            throw PluginRig.Failure(description: "\(name) has warnings:\n\(output)")
        }
        return "\(target)/debug/lib\(name).so"
    }
}
