import Foundation
import PluginRig
import Testing

/// include/signalbox/kit.h: helpers that are compiled into plugins.
@Suite struct KitHeaderTests {
    @Test(arguments: [
        ["gcc", "-std=c99", "-fsanitize=address,undefined"], ["gcc", "-std=c11", "-O2"],
        ["g++", "-x", "c++", "-std=c++17", "-O2"], ["clang", "-std=c11"],
    ])
    func `it keeps its vectors, in C and in C++`(compiler: [String]) async throws {
        let program = try Workshop.folder().appending(path: "kit").path
        let built = try await Tool.run(
            compiler + [
                "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", "include",
                "Tests/Fixtures/Kit/kit.c", "-o", program,
            ])
        try #require(built.status == 0, "\(built.text)")
        let ran = try await Tool.run([program])
        #expect(ran.status == 0, "\(ran.text)")
    }
}
