import Foundation
import SignalboxConfig
import Testing

/// Each heading in docs/configuration.md has a table of keys; the reader knows the same keys.
@Suite struct ConfigDocumentTests {
    /// A heading, and a file with the unknown key `zz` in its place.
    static let places: [(heading: String, yaml: String)] = [
        ("Sections", "zz: 1"),
        ("gateway", "gateway: { zz: 1 }"),
        ("gateway.tls", "gateway: { tls: { zz: 1 } }"),
        ("gateway.history", "gateway: { history: { zz: 1 } }"),
        ("gateway.dead", "gateway: { dead: { zz: 1 } }"),
        ("gateway.limits", "gateway: { limits: { zz: 1 } }"),
        ("gateway.tracing", "gateway: { tracing: { zz: 1 } }"),
        ("gateway.store", "gateway: { store: { zz: 1 } }"),
        ("gateway.log", "gateway: { log: { zz: 1 } }"),
        ("plugins", "plugins: { p: { zz: 1 } }"),
        ("routes", "routes: [ { name: r, zz: 1 } ]"),
        ("routes.filter", "routes: [ { name: r, filter: [{ zz: 1 }] } ]"),
        ("routes.build", "routes: [ { name: r, build: { zz: 1 } } ]"),
        ("routes.build.set", "routes: [ { name: r, build: { set: { zz: 1 } } } ]"),
        ("routes.deliver", "routes: [ { name: r, deliver: { zz: 1 } } ]"),
        ("retry", "retry: { slow: { zz: 1 } }"),
        ("devices", "devices: { zz: 1 }"),
        ("devices.clients", "devices: { clients: [ { name: c, zz: 1 } ] }"),
        ("devices.users", "devices: { users: [ { name: u, zz: 1 } ] }"),
        ("devices.users.code", "devices: { users: [ { name: u, code: { zz: 1 } } ] }"),
        ("outcomes", "outcomes: [ { name: o, zz: 1 } ]"),
        ("tests", "tests: [ { name: t, zz: 1 } ]"),
        ("tests.given", "tests: [ { name: t, given: { zz: 1 } } ]"),
        ("tests.expect", "tests: [ { name: t, given: {}, expect: [ { zz: 1 } ] } ]"),
    ]

    @Test(arguments: places)
    func `the page lists the keys that the reader knows`(heading: String, yaml: String) throws {
        let listed = try #require(Self.tables()[heading], "no table of keys under \(heading)")
        #expect(listed == (try known(yaml)))
    }

    @Test func `the page and the schema say the same about each key`() throws {
        let sections = ConfigSection.all
        for (heading, rows) in try Self.rows() {
            let name = heading == "Sections" ? "Sections" : heading
            let section = try #require(sections.first { $0.heading == name }, "no \(name)")
            for key in section.keys {
                let cells = try #require(
                    rows.first { $0[0].contains("`\(key.name)`") }, "\(name).\(key.name)")
                #expect(cells[1] == key.meaning)
                #expect((cells.count > 2 ? cells[2] : "") == key.fallback)
            }
        }
    }

    @Test func `every table of keys is compared`() throws {
        #expect(try Set(Self.tables().keys) == Set(Self.places.map(\.heading)))
    }

    @Test func `the configuration of a fleet is whole and needs no variable that nobody sets`()
        throws
    {
        let parts = try Self.page("scale-out").components(separatedBy: "```yaml\n")
        let yaml = try #require(parts.first { $0.hasPrefix("version:") })
            .components(separatedBy: "```")[0]
        let variables = ["DATABASE_URL": "postgres://db1/signalbox", "ZENDESK_PATH_SECRET": "s"]
        let (config, diagnostics) = GatewayConfig.load(
            "fleet.yaml",
            environment: ConfigEnvironment(
                variables: variables,
                readFile: { .success(Array(($0 == "fleet.yaml" ? yaml : "0123456789abcdef").utf8)) }
            ))
        #expect(diagnostics.isEmpty)
        #expect(config.gateway.store != nil && config.gateway.name == nil)
    }

    /// The keys that the message about `zz` lists.
    private func known(_ yaml: String) throws -> Set<String> {
        let text = "version: 1\n\(yaml)\n"
        let (_, diagnostics) = GatewayConfig.load(
            "gateway.yaml",
            environment: ConfigEnvironment(
                variables: [:], readFile: { _ in .success(Array(text.utf8)) }))
        let message = try #require(
            diagnostics.first { $0.code == "unknown-key" && $0.message.contains("\"zz\"") }?.message
        )
        let list = try #require(message.components(separatedBy: "known: ").last)
        return Set(list.components(separatedBy: ", "))
    }

    private static func page(_ name: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: "docs/\(name).md"), encoding: .utf8)
    }

    /// The cells of each row of the tables of keys, by heading.
    private static func rows() throws -> [String: [[String]]] {
        var rows: [String: [[String]]] = [:]
        var heading = ""
        var isInside = false
        for line in try page("configuration").split(separator: "\n") {
            if line.hasPrefix("#") { heading = String(line.drop { $0 == "#" || $0 == " " }) }
            if line.hasPrefix("| key |") { isInside = true }
            if !line.hasPrefix("|") { isInside = false }
            guard isInside, line.hasPrefix("| `") else { continue }
            let cells = line.dropFirst().dropLast().split(
                separator: "|", omittingEmptySubsequences: false)
            rows[heading, default: []].append(
                cells.map { $0.trimmingCharacters(in: .whitespaces) })
        }
        return rows
    }

    /// The first cells of each table that begins with `| key |`, by heading.
    private static func tables() throws -> [String: Set<String>] {
        let page = try page("configuration")
        var tables: [String: Set<String>] = [:]
        var heading = ""
        var isInside = false
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") { heading = String(line.drop { $0 == "#" || $0 == " " }) }
            if line.hasPrefix("| key |") {
                isInside = true
            } else if isInside, line.hasPrefix("| `") {
                let cell = line.dropFirst().prefix { $0 != "|" }
                for (number, part) in cell.split(
                    separator: "`", omittingEmptySubsequences: false
                ).enumerated() where number % 2 == 1 {
                    tables[heading, default: []].insert(String(part))
                }
            } else if !line.hasPrefix("|") {
                isInside = false
            }
        }
        return tables
    }
}
