import Foundation
import PluginRig
import Testing

/// Each header on its own, as each language reads it.
@Suite struct CompileTests {
    static let dialects: [[String]] = [
        ["gcc", "-std=c11", "-xc"], ["gcc", "-std=c17", "-xc"],
        ["g++", "-std=c++17", "-xc++"], ["g++", "-std=c++20", "-xc++"],
        ["clang", "-std=c11", "-xc"], ["clang", "-std=c17", "-xc"],
        ["clang++", "-std=c++17", "-xc++"], ["clang++", "-std=c++20", "-xc++"],
    ]

    /// Compiles one file per header, with a plugin author's warnings as errors.
    private func compile(
        _ headers: Headers, _ dialect: [String], only: String? = nil
    ) async throws -> Tool.Ended {
        let folder = try Workshop.folder("each")
        var sources: [String] = []
        for (index, header) in try (only.map { [$0] } ?? headers.files()).enumerated() {
            let source = folder.appending(path: "each\(index).c")
            try "#include <\(header)>\n".write(to: source, atomically: true, encoding: .utf8)
            sources.append(source.path)
        }
        let uses = folder.appending(path: "uses.c")
        try await self.uses(headers).write(to: uses, atomically: true, encoding: .utf8)
        // Clang checks the padding only of structs that it lays out; the dump makes it lay out all.
        let all =
            dialect[0].hasPrefix("clang") ? ["-Xclang", "-fdump-record-layouts-complete"] : []
        return try await Tool.run(
            dialect + all + [
                "-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Werror", "-fsyntax-only",
                "-I\(headers.folder.path)",
            ] + sources + [uses.path])
    }

    /// A source file that expands every macro.
    private func uses(_ headers: Headers) async throws -> String {
        let constants = try await Layout.of(.current).facts("constant").compactMap {
            $0.split(separator: " ").first
        }.filter { $0 != "SBX_EXPORT" }
        return """
            \(try headers.files().map { "#include <\($0)>" }.joined(separator: "\n"))
            SBX_EXPORT uint64_t uses(const sbx_delivery *list, size_t stride);
            SBX_EXPORT uint64_t uses(const sbx_delivery *list, size_t stride) {
              const sbx_delivery *one = SBX_AT(sbx_delivery, list, 1, stride);
              \(constants.map { "(void)\($0);" }.joined(separator: "\n  "))
              return SBX_HAS(one, device) ? one->id : 0;
            }

            """
    }

    @Test(arguments: dialects)
    func `each header compiles without a warning and without padding`(dialect: [String])
        async throws
    {
        #expect(try Headers.current.files().count >= 21)
        let result = try await compile(.current, dialect)
        #expect(result.status == 0, "\(result.errors)")
    }

    @Test(arguments: dialects)
    func `padding is found`(dialect: [String]) async throws {
        let padded = try Headers.current.copy()
        try padded.append("  uint32_t lonely;", to: "sbx_delivery")
        let result = try await compile(padded, dialect, only: "signalbox/model.h")
        #expect(result.status != 0)
        #expect(result.errors.contains("padd"), "\(result.errors)")
    }

    @Test(arguments: dialects)
    func `a name that only C allows is found`(dialect: [String]) async throws {
        let named = try Headers.current.copy()
        try named.append("  sbx_str class;", to: "sbx_delivery")
        let result = try await compile(named, dialect, only: "signalbox/model.h")
        #expect((result.status == 0) == dialect.contains("-xc"), "\(result.errors)")
    }

    @Test func `every header belongs to a module`() async throws {
        let map = try Headers.current.text("module.modulemap")
        let roots = map.matches(of: /header "([^"]+)"/).map { String($0.output.1) }
        let folder = try Workshop.folder("modules")
        let source = folder.appending(path: "roots.c")
        try roots.map { "#include <\($0)>\n" }.joined().write(
            to: source, atomically: true, encoding: .utf8)
        let include = Headers.current.folder.path
        let needed = try await Tool.output(["clang", "-MM", "-I\(include)", source.path])
        for header in try Headers.current.files() {
            #expect(needed.contains("/\(header)"), "no module of include/ leads to \(header)")
        }
    }

    /// Swift code that names every struct, field and constant.
    private func typecheck(_ headers: Headers) async throws -> Tool.Ended {
        let map = try headers.text("module.modulemap")
        let modules = map.matches(of: /module ([A-Za-z0-9_]+)/).map { String($0.output.1) }
        #expect(modules.contains("CSignalbox"))
        let layout = try await Layout.of(headers)
        var text = modules.map { "import \($0)\n" }.joined()
        for name in layout.names {
            text += "func read(_ given: \(name)) {\n"
            for field in layout.structs[name]?.fields ?? [] {
                let member = field.text.split { $0 == " " || $0 == "*" }.last ?? ""
                text += "    _ = given.`\(member)`\n"
            }
            text += "}\n"
        }
        text += "func constants() {\n"
        for line in layout.facts("constant") + layout.facts("id") {
            let name = line.split(separator: " ")[0]
            if name != "SBX_EXPORT" { text += "    _ = \(name)\n" }
        }
        text += "}\n"
        let folder = try Workshop.folder("swift")
        let source = folder.appending(path: "reads.swift")
        try text.write(to: source, atomically: true, encoding: .utf8)
        return try await Tool.run([
            "swiftc", "-typecheck", "-swift-version", "6", "-warnings-as-errors",
            "-module-cache-path", folder.appending(path: "cache").path,
            "-I", headers.folder.path, source.path,
        ])
    }

    @Test func `Swift sees every struct, field and constant`() async throws {
        let result = try await typecheck(.current)
        #expect(result.status == 0, "\(result.errors)\(result.output)")
        // The check finds what Swift cannot import.
        let varied = try Headers.current.copy()
        try varied.append("  _Atomic(uint64_t) shared;", to: "sbx_log")
        #expect(try await typecheck(varied).status != 0)
    }
}
