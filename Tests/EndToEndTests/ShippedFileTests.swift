import Foundation
import PluginRig
import SignalboxConfig
import SignalboxCore
import Testing

/// What an installation brings beside the program.
@Suite struct ShippedFileTests {
    /// All commands that the help shows, as people write them, with their options.
    private static func commands(
        _ entry: [String: Any], _ path: [String] = []
    ) -> [(name: String, options: [String])] {
        let all = entry["subcommands"] as? [[String: Any]] ?? []
        let subcommands = all.filter { $0["shouldDisplay"] as? Bool == true }
        guard subcommands.isEmpty else {
            return subcommands.flatMap { sub in
                commands(sub, path + [sub["commandName"] as? String ?? ""])
            }
        }
        let arguments = entry["arguments"] as? [[String: Any]] ?? []
        let names = arguments.compactMap { $0["preferredName"] as? [String: String] }
        let options = names.map { ($0["kind"] == "short" ? "-" : "--") + ($0["name"] ?? "") }
        let own = options.filter { $0 != "--help" && $0 != "--version" }
        return [(path.joined(separator: " "), own)]
    }

    @Test func `the bill of materials names what the program is linked with, with licences`()
        async throws
    {
        let program = try ProgramTests.program()
        let text = try await Tool.output([
            PluginRig.root.appending(path: "scripts/sbom.py").path,
            program.deletingLastPathComponent().path, "1.2.3",
        ])
        let bill = try #require(
            try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        #expect(bill["spdxVersion"] as? String == "SPDX-2.3")
        let packages = bill["packages"] as? [[String: Any]] ?? []
        let licences = Dictionary(
            packages.map { ($0["name"] as? String, $0["licenseConcluded"] as? String) },
            uniquingKeysWith: { first, _ in first })
        #expect(licences["signalbox"] == "Apache-2.0" && licences["swift-nio"] == "Apache-2.0")
        #expect(licences["libssl3"] == "Apache-2.0" && licences["libsqlite3-0"] == "blessing")
        let manifest = try String(
            contentsOf: PluginRig.root.appending(path: "Package.swift"), encoding: .utf8)
        for match in manifest.matches(of: #/\.package\(url: "[^"]*\/([^"\/]+)"/#) {
            let name = String(match.output.1).lowercased()
            #expect(licences[name] ?? nil != nil && licences[name] != "NOASSERTION", "\(name)")
        }
    }

    @Test func `the manual has every command with its options`() async throws {
        let program = try ProgramTests.program().path
        let help = try await Tool.output([program, "--experimental-dump-help"])
        let tree = try JSONSerialization.jsonObject(with: Data(help.utf8)) as? [String: Any]
        let root = try #require(tree?["command"] as? [String: Any])
        let manual = try await Tool.output([
            "sh", "-c", "'\(program)' --experimental-dump-help | scripts/package/manual.py 9.8.7",
        ])
        #expect(manual.contains("Signalbox 9.8.7"))
        let sections = manual.split(separator: "\n.Ss ").dropFirst().map { String($0) }
        let commands = Self.commands(root).filter { $0.name != "help" }
        #expect(sections.count == commands.count)
        for command in commands {
            let section = try #require(
                sections.first { $0.hasPrefix(command.name + "\n") }, "\(command.name)")
            for option in command.options {
                let words = option.replacing("-", with: "\\-")
                #expect(section.contains(words), "\(command.name) \(option)")
            }
        }
    }

    @Test(arguments: ["one-gateway", "several-gateways"])
    func `the configuration in a Kubernetes manifest has no faults`(name: String) async throws {
        let path = PluginRig.root.appending(path: "deploy/kubernetes/\(name).yaml")
        let text = try String(contentsOf: path, encoding: .utf8)
        let block = try #require(text.split(separator: "  gateway.yaml: |\n").last)
        let lines = block.split(separator: "\n").prefix { $0.hasPrefix("    ") }
        let yaml = lines.map { $0.dropFirst(4) }.joined(separator: "\n")
        let file = try ProgramTests.temporary("gateway.yaml", yaml)
        let ended = try await ProgramTests.run(["check", "--no-secrets", "--config", file])
        #expect(ended.status == 0, "\(ended.text)")
    }

    /// Its rules name the pods and the ports of the manifests.
    @Test(arguments: ["one-gateway", "several-gateways"])
    func `the network policy covers the pods of a Kubernetes manifest`(name: String) async throws {
        let folder = PluginRig.root.appending(path: "deploy/kubernetes").path
        let policy = try #require(
            GatewayConfig.load("\(folder)/network-policy.yaml", environment: .process).config.given)
        let spec = try #require(policy["spec"])
        let manifest = try String(contentsOfFile: "\(folder)/\(name).yaml", encoding: .utf8)
        let labels = spec["podSelector"]?["matchLabels"]?.json.text
        #expect(labels == #"{"app.kubernetes.io/name":"signalbox"}"#)
        #expect(manifest.contains("labels: { app.kubernetes.io/name: signalbox }"))
        #expect(spec["policyTypes"]?.json.text == #"["Ingress","Egress"]"#)
        let rules = spec["ingress"]?.json
        let named = [rules?[0], rules?[1]].map { $0?["ports"]?[0]?["port"]?.string }
        #expect(named == ["webhooks", "admin"] && rules?[2] == nil)
        // Whoever may reach the admin listener is named.
        #expect(rules?[0]?["from"] == nil && rules?[1]?["from"] != nil)
        for port in named.compactMap(\.self) { #expect(manifest.contains("{ name: \(port), ")) }
    }
}
