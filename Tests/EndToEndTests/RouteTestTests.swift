import Foundation
import PluginRig
import SignalboxCore
import SignalboxDevTools
import SignalboxJSON
import Testing

/// `signalbox test`, `init` and `explain --live`, as an operator runs them.
@Suite struct RouteTestTests {
    private static let tests =
        ShopConfig.yaml + """

            tests:
              - name: good
                given: { source: shop, event: { type: order.shipped, data: { order: { total: 1 }, title: T } } }
                expect: [ { route: shipped, payload_file: golden.json } ]
              - name: bad
                given: { source: shop, event: { type: order.paid } }
                expect: [ { route: shipped, send: apns } ]
              - name: nobody
                given: { source: shop, event: { type: order.shipped, data: { order: { total: 1 } }, recipients: [ { user: u-1 } ] } }
                devices: []
                expect: [ { skipped: unknown_user, user: u-1 }, { pushes: 0 } ]
            """

    @Test
    func `tests fail with words, golden files are written, and machines can read the results`()
        async throws
    {
        let file = try ProgramTests.temporary("gateway.yaml", Self.tests)
        let folder = URL(filePath: file).deletingLastPathComponent()
        let junit = folder.appending(path: "junit.xml").path
        let first = try await ProgramTests.run(["test", "--config", file, "--junit", junit])
        #expect(first.status == 1)
        #expect(first.text.contains("payload_file: golden.json is missing or not JSON"))
        #expect(
            first.text.contains(
                "route shipped does not take it: type is \"order.paid\", wanted \"order.shipped\""),
            "\(first.text)")
        #expect(first.text.contains("pass  nobody"))
        #expect(first.text.contains("3 tests, 2 failed"))
        let xml = try String(contentsOfFile: junit, encoding: .utf8)
        #expect(xml.contains("tests=\"3\" failures=\"2\""))
        let update = try await ProgramTests.run([
            "test", "--config", file, "--update", "--filter", "good",
        ])
        #expect(update.status == 0, "\(update.text)")
        #expect(update.text.contains("wrote golden.json"))
        let golden = try String(contentsOf: folder.appending(path: "golden.json"), encoding: .utf8)
        #expect(golden.contains("\"title\": \"T\""))
        let again = try await ProgramTests.run([
            "test", "--config", file, "--json", "--filter", "good",
        ])
        #expect(again.status == 0, "\(again.text)")
        #expect(try JSONValue.parse(again.text)["passed"] == .bool(true))
    }

    @Test func `the tests of the shipped configuration and of the examples pass`() async throws {
        try await RustRig.plugins()
        let examples = PluginRig.root.appending(path: "Examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: examples.path).sorted()
        let files =
            [PluginRig.root.appending(path: "gateway.yaml")]
            + names.map { examples.appending(path: "\($0)/gateway.yaml") }
        var count = 0
        for file in files where FileManager.default.fileExists(atPath: file.path) {
            let text = try String(contentsOf: file, encoding: .utf8)
            #expect(text.contains("\ntests:"), "\(file.path) has no test")
            let ended = try await ProgramTests.run(["test", "--config", file.path])
            #expect(ended.status == 0, "\(file.path): \(ended.text)")
            count += 1
        }
        #expect(count >= 10)
    }

    @Test(arguments: NewConfiguration.sources, ["apns", "fcm", "smtp", "apns,fcm,smtp"])
    func `what init writes is sound, and is never written over another file`(
        _ source: String, _ via: String
    ) async throws {
        try await RustRig.plugins()
        let folder = try Workshop.folder("init")
        let file = folder.appending(path: "gateway.yaml").path
        let made = try await ProgramTests.run([
            "init", "--source", source, "--via", via, "--config", file,
        ])
        #expect(made.status == 0, "\(made.text)")
        #expect(made.text.contains("the environment variable DEVICES_TOKEN"))
        let tested = try await ProgramTests.run(["test", "--config", file])
        #expect(tested.status == 0, "\(tested.text)")
        let before = try String(contentsOfFile: file, encoding: .utf8)
        // A chat's messages do not replace each other, and are taken back by keys of their own.
        #expect(before.contains("collapse: \"") == (source != "sendbird"))
        let again = try await ProgramTests.run(["init", "--source", "program", "--config", file])
        #expect(again.status == 1)
        #expect(again.text.contains("was not written: there is one already"))
        #expect(try String(contentsOfFile: file, encoding: .utf8) == before)
    }

    @Test(arguments: [["test"], ["explain", "-"], ["check", "--no-secrets"]])
    func `a configuration that is missing is a fault, whatever stands in for secrets`(
        _ command: [String]
    ) async throws {
        let ended = try await ProgramTests.run(command + ["--config", "/nowhere/gateway.yaml"])
        #expect(ended.status == 78, "\(ended.text)")
        #expect(ended.text.contains("missing-file: there is no such file"))
    }

    @Test func `init names what it knows`() async throws {
        let two = try await ProgramTests.run(
            ["init", "--source", "zendesk", "--source", "cloudevents", "--config", "x"])
        #expect(two.status == 64 && two.errors.contains("give one --source"), "\(two.text)")
        let ended = try await ProgramTests.run(["init", "--source", "zendesc", "--config", "x"])
        #expect(ended.status == 1)
        #expect(ended.text.contains("unknown source \"zendesc\" (did you mean \"zendesk\"?)"))
    }
}
