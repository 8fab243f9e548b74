import Foundation
import Testing

/// The C header by itself, and what the bundled plugins export.
@Suite struct ContractTests {
    @Test(arguments: [
        ["gcc", "-std=c11", "-xc"], ["gcc", "-std=c17", "-xc"], ["g++", "-std=c++17", "-xc++"],
        ["g++", "-std=c++20", "-xc++"], ["clang", "-std=c11", "-xc"],
        ["clang", "-std=c++17", "-xc++"],
    ])
    func `the contract compiles without a warning and without padding`(dialect: [String]) throws {
        let headers = Repository.files(under: "include", endings: [".h"])
        #expect(headers.count >= 17)
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for header in headers {
            // Each header by itself: an author may include just one.
            let source = folder.appending(path: "one.c")
            let include = header.dropFirst("include/".count)
            try "#include <\(include)>\nint probe(void);\nint probe(void) { return 0; }\n".write(
                to: source, atomically: true, encoding: .utf8)
            let result = try Repository.run(
                dialect + [
                    "-Wall", "-Wextra", "-Wpedantic", "-Wpadded", "-Werror", "-Iinclude", "-c",
                    source.path, "-o", folder.appending(path: "one.o").path,
                ])
            #expect(result.status == 0, "\(header): \(result.output)")
        }
    }

    @Test func `every function of the contract has a comment with its thread`() throws {
        for header in Repository.files(under: "include/signalbox/role", endings: [".h"])
            + Repository.files(under: "include/signalbox/service", endings: [".h"])
        {
            let text = try Repository.text(header)
            let functions = text.split(separator: "\n").filter { $0.contains("(*") }
            if functions.isEmpty { continue }
            #expect(text.contains("Thread:"), "\(header)")
        }
    }

    @Test(arguments: ["APNs", "FCM", "HelloC", "SMTP", "Zendesk"])
    func `a bundled plugin exports one symbol`(name: String) throws {
        let file = Repository.buildFolder.appending(path: "lib\(name).so").path
        let result = try Repository.run(["nm", "-D", "--extern-only", "--defined-only", file])
        let symbols = result.output.split(separator: "\n").compactMap {
            $0.split(separator: " ").last
        }
        #expect(symbols == ["sbx_plugin_entry_v1"])
    }
}
