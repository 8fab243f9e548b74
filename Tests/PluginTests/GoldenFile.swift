import Foundation
import PluginRig
import SignalboxCore
import SignalboxCrypto
import SignalboxJSON
import Testing

@testable import SignalboxConfig

/// A mistake in a golden file.
struct GoldenFault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A map of a golden file. A key that nobody reads is a mistake.
struct GoldenFields {
    let place: String
    private(set) var left: [JSONValue.Member]

    init(_ value: JSONValue?, _ place: String) throws {
        guard case .object(let members)? = value else {
            throw GoldenFault("\(place) must be a map")
        }
        self.place = place
        left = members
    }

    mutating func take(_ key: String) -> JSONValue? {
        guard let index = left.firstIndex(where: { $0.key == key }) else { return nil }
        return left.remove(at: index).value
    }

    /// A map that expects something, so it is not empty.
    mutating func map(_ key: String) throws -> GoldenFields? {
        guard let value = take(key) else { return nil }
        let fields = try GoldenFields(value, "\(place): \(key)")
        guard !fields.left.isEmpty else { throw GoldenFault("\(place): \(key) is empty") }
        return fields
    }

    mutating func text(_ key: String) throws -> String? {
        guard let value = take(key) else { return nil }
        guard let text = value.string else { throw GoldenFault("\(place): \(key) must be text") }
        return text
    }

    mutating func integer(_ key: String) throws -> Int64? {
        guard let value = take(key) else { return nil }
        guard let number = value.integer else {
            throw GoldenFault("\(place): \(key) must be an integer")
        }
        return number
    }

    mutating func list(_ key: String) throws -> [JSONValue]? {
        guard let value = take(key) else { return nil }
        guard case .array(let items) = value else {
            throw GoldenFault("\(place): \(key) must be a list")
        }
        return items
    }

    /// Headers or attributes.
    mutating func attributes(_ key: String) throws -> [Attribute] {
        guard let value = take(key) else { return [] }
        return try GoldenFields(value, "\(place): \(key)").left.map {
            Attribute($0.key, $0.value.scalarText ?? $0.value.text)
        }
    }

    func end() throws {
        if let first = left.first { throw GoldenFault("\(place): unknown key \(first.key)") }
    }
}

/// One case of a file in Tests/Fixtures/Plugins; its README describes the format.
struct GoldenCase: Sendable, CustomTestStringConvertible {
    let file: String
    let name: String
    let plugin: String
    /// The file's defaults, then the case's own members.
    let shared: [JSONValue.Member]
    let own: [JSONValue.Member]

    /// ", row 2" of a case with rows.
    var row = ""

    var testDescription: String { "\(file): \(name)\(row)" }

    static let folder = PluginRig.root.appending(path: "Tests/Fixtures/Plugins")
    static let defaults = ["config", "device", "call_answer", "receive", "build"]
    /// Steps that need more than a sender.
    static let roleSteps = ["receive", "build", "register", "hostile", "paths"]

    /// All cases of all files.
    static let all = Result { try files().flatMap { try read($0) } }

    static func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.path).sorted().filter {
            $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") || $0.hasSuffix(".json")
        }
    }

    private static func read(_ file: String) throws -> [GoldenCase] {
        let text = try Data(contentsOf: folder.appending(path: file))
        return try read(Array(text), file: file)
    }

    static func read(_ text: [UInt8], file: String) throws -> [GoldenCase] {
        let diagnostics = Diagnostics()
        let interpolation = Interpolation(
            environment: .process, folder: folder.path, diagnostics: diagnostics)
        let root = YAMLReader.read(
            text, file: file, interpolation: interpolation, diagnostics: diagnostics)
        guard let root, diagnostics.all.isEmpty else {
            throw GoldenFault("\(file): \(diagnostics.all.map(\.description))")
        }
        var fields = try GoldenFields(filled(root.json), file)
        // The path says it, so that no file is left unread.
        let plugin = String(file.prefix { $0 != "/" && $0 != "." })
        guard let list = try fields.list("cases"), !list.isEmpty else {
            throw GoldenFault("\(file): cases is missing or empty")
        }
        let shared = defaults.compactMap { key in
            fields.take(key).map { JSONValue.Member(key, $0) }
        }
        try fields.end()
        let cases = try list.enumerated().map { index, value in
            var fields = try GoldenFields(value, "\(file): case \(index + 1)")
            guard let name = try fields.text("name"), !name.isEmpty else {
                throw GoldenFault("\(fields.place): name is missing")
            }
            return GoldenCase(
                file: file, name: name, plugin: plugin, shared: shared, own: fields.left)
        }
        let names = Dictionary(grouping: cases, by: \.name)
        if let twice = names.first(where: { $0.value.count > 1 }) {
            throw GoldenFault("\(file): two cases are named \(twice.key)")
        }
        return try cases.flatMap { try $0.rows() }
    }

    /// The case once for each row, in which `<COLUMN>` stands for the row's value.
    private func rows() throws -> [GoldenCase] {
        var fields = try GoldenFields(.object(own), "\(file): \(name)")
        guard let rows = try fields.list("rows") else { return [self] }
        guard rows.count > 1, case .array(let columns) = rows[0] else {
            throw GoldenFault("\(fields.place): rows is empty")
        }
        let names = columns.map { "<\($0.string ?? "")>" }
        let body = JSONValue.object(fields.left)
        for name in names where !body.text.contains(name) {
            throw GoldenFault("\(fields.place): nothing uses \(name)")
        }
        return try rows.dropFirst().enumerated().map { index, row in
            guard case .array(let values) = row, values.count == names.count else {
                throw GoldenFault("\(fields.place): row \(index + 1) needs \(names.count) values")
            }
            let bound = try Self.filled(Self.bound(body, Array(zip(names, values))))
            guard case .object(let own) = bound else { return self }
            return GoldenCase(
                file: file, name: name, plugin: plugin, shared: shared, own: own,
                row: ", row \(index + 1)")
        }
    }

    private static func bound(
        _ value: JSONValue, _ pairs: [(name: String, value: JSONValue)]
    ) -> JSONValue {
        func text(_ text: String) -> String {
            pairs.reduce(text) {
                $0.replacing($1.name, with: $1.value.scalarText ?? $1.value.text)
            }
        }
        switch value {
        case .string(let string):
            return pairs.first { $0.name == string }?.value ?? .string(text(string))
        case .array(let items): return .array(items.map { bound($0, pairs) })
        case .object(let members):
            return .object(members.map { .init(text($0.key), bound($0.value, pairs)) })
        default: return value
        }
    }

    private static let keys = [
        "<p256 key>": Result { try ThrowAway.p256Key().privateKeyPEM() },
        "<rsa key>": Result { try ThrowAway.rsaKey().privateKeyPEM() },
    ]

    /// Fills `<5 times x>`, `<file PATH>`, `<json PATH>` and the keys. Inside other text, a key is escaped for JSON.
    static func filled(_ value: JSONValue) throws -> JSONValue {
        switch value {
        case .string(var text):
            if text.hasPrefix("<json "), text.hasSuffix(">") {
                return try .parse(PluginRig.fixture(String(text.dropFirst(6).dropLast())))
            }
            for (mark, made) in keys where text.contains(mark) {
                let pem = String(decoding: try made.get(), as: UTF8.self)
                text =
                    text == mark
                    ? pem
                    : text.replacing(mark, with: JSONValue.string(pem).text.dropFirst().dropLast())
            }
            for part in text.matches(of: #/<file ([^<>]+)>/#) {
                text = text.replacing(part.0, with: try PluginRig.fixture(String(part.1)))
            }
            text.replace(#/<(text|base64|base64url) ([^<>]+)>/#) { part in
                part.1 == "text"
                    ? String(part.2)
                    : Base64.encode(Array(part.2.utf8), url: part.1 == "base64url")
            }
            let times = #/<([0-9]+) times ([^>]+)>/#
            return .string(
                text.replacing(times) {
                    String(repeating: String($0.output.2), count: Int($0.output.1) ?? 0)
                })
        case .array(let items): return .array(try items.map { try filled($0) })
        case .object(let members):
            return .object(try members.map { .init($0.key, try filled($0.value)) })
        default: return value
        }
    }
}
