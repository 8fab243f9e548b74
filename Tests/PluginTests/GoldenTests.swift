import Foundation
import PluginRig
import SignalboxJSON
import Testing

/// The cases of Tests/Fixtures/Plugins.
@Suite struct GoldenTests {
    @Test(arguments: (try? GoldenCase.all.get()) ?? [])
    func `a plugin does what its golden file says`(test: GoldenCase) async throws {
        do {
            for fault in try await GoldenRun.faults(of: test) {
                Issue.record(Comment(rawValue: fault))
            }
        } catch {
            Issue.record("\(test.testDescription): \(error)")
        }
    }

    @Test func `every golden file can be read, and has cases`() throws {
        let cases = try GoldenCase.all.get()
        #expect(try Set(cases.map(\.file)) == Set(GoldenCase.files()))
        let strays = try FileManager.default.subpathsOfDirectory(atPath: GoldenCase.folder.path)
            .filter { $0.contains(".") && !$0.hasSuffix(".yaml") && $0 != "README.md" }
        #expect(strays == [])
    }

    private static let refused = [
        ("cases: []", "empty"), ("x: 1\ncases: [{name: a}]", "unknown key x"),
        ("cases: [{send: {}}]", "name is missing"),
        ("cases: [{name: a, send: {}}, {name: a, send: {}}]", "two cases"),
        ("cases: [{name: a}]", "needs send, answer, receive"),
        ("cases: [{name: a, steps: []}]", "steps is empty"),
        ("cases: [{name: a, send: {titel: T}, outcome: {kind: x}}]", "unknown key titel"),
        ("cases: [{name: a, send: {title: T}}]", "needs request or outcome"),
        ("cases: [{name: a, send: {title: T}, request: {}}]", "request is empty"),
        ("cases: [{name: a, send: {title: T}, request: {has: {}}}]", "has is empty"),
        ("cases: [{name: a, send: {title: T}, request: {pth: x}}]", "unknown key pth"),
        ("cases: [{name: a, answer: {status: 200}}]", "needs outcome"),
        ("cases: [{name: a, answer: {status: 200}, outcome: {reason: x}}]", "no kind"),
        ("cases: [{name: a, answer: {status: 200}, outcome: {kind: delivered}, x: 1}]", "key x"),
        ("cases: [{name: a, refused: \"\"}]", "refused is empty"),
        ("cases: [{name: a, rows: [[x]], send: {title: <x>}}]", "rows is empty"),
        ("cases: [{name: a, rows: [[x], [1, 2]], send: {title: <x>}}]", "row 1 needs 1 values"),
        ("cases: [{name: a, rows: [[x], [1]], send: {title: x}}]", "nothing uses <x>"),
    ]

    @Test(arguments: refused)
    func `a golden file that would check nothing is refused`(text: String, words: String)
        async throws
    {
        let login = "config: {app_key: k, token: t}\n"
        do {
            for test in try GoldenCase.read(Array((login + text).utf8), file: "Airship.yaml") {
                _ = try await GoldenRun.faults(of: test)
            }
            Issue.record("it is accepted")
        } catch {
            #expect("\(error)".contains(words))
        }
    }

    @Test func `a difference is named with its place`() async throws {
        let text = """
            config: {app_key: k, token: t}
            cases:
              - name: a
                send: {body: B}
                request: {path: /x, body: {audience: {channel: c}, notification: {alert: B}}}
            """
        let test = try #require(try GoldenCase.read(Array(text.utf8), file: "Airship.yaml").first)
        let faults = try await GoldenRun.faults(of: test)
        #expect(faults.first == "Airship.yaml: a: path: is /api/push, expected /x")
        #expect(
            faults.contains { $0.hasPrefix("Airship.yaml: a: body/audience/channel: is \"0a1b\"") })
        #expect(faults.contains { $0.hasSuffix(" is not expected") })
    }
}
