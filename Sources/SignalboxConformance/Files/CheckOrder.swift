internal import SignalboxCore
internal import SignalboxJSON

/// The task of the examining process.
///
/// The process reads it from standard input, so that no secret shows up in a process list.
struct CheckOrder: Sendable {
    /// Absolute path of the library.
    var file: String
    /// The author's config; if nil, one is made up from the schema.
    var config: JSONValue?
    /// Values to put into the config, by the path of their key: `apps.0.key`.
    var secrets: [(name: String, value: [UInt8])] = []
    /// The author's samples.
    var samples = JSONValue.object([])
    /// Steps that an earlier process has done.
    var done: [String] = []
    /// The sections to check; empty: all.
    var only: [String] = []
    /// Whether to use smaller amounts, for tools that slow everything down.
    var isLight = false
    /// Whether AddressSanitizer watches.
    var isSanitized = false

    init(file: String) { self.file = file }

    init?(_ text: [UInt8]) {
        guard let json = try? JSONValue.parse(text), let file = json["file"]?.string else {
            return nil
        }
        self.file = file
        config = json["config"].flatMap { $0 == .null ? nil : $0 }
        if case .object(let members) = json["secrets"] {
            secrets = members.map { ($0.key, Self.bytes($0.value)) }
        }
        samples = json["samples"] ?? samples
        if case .array(let names) = json["done"] { done = names.compactMap(\.string) }
        if case .array(let names) = json["only"] { only = names.compactMap(\.string) }
        isLight = json["light"] == .bool(true)
        isSanitized = json["sanitized"] == .bool(true)
    }

    var json: JSONValue {
        [
            "file": .string(file), "config": config ?? .null,
            "secrets": .object(
                secrets.map { secret in
                    .init(secret.name, .array(secret.value.map { .integer(Int64($0)) }))
                }), "samples": samples, "done": .array(done.map(JSONValue.string)),
            "only": .array(only.map(JSONValue.string)), "light": .bool(isLight),
            "sanitized": .bool(isSanitized),
        ]
    }

    /// Secrets may be any bytes; JSON text may not.
    private static func bytes(_ json: JSONValue) -> [UInt8] {
        guard case .array(let items) = json else { return [] }
        return items.compactMap { $0.integer.map { UInt8(truncatingIfNeeded: $0) } }
    }
}
