internal import SignalboxCore
internal import SignalboxPluginHost

/// The config of the examined plugin, from the author or made up, with the author's secrets.
enum ConfigSource {
    /// Why there is no config, in lines.
    struct Fault: Error {
        var lines: [String]
    }

    /// Where the config came from, for error messages.
    enum Origin { case given, madeUp }

    static func config(
        _ order: CheckOrder, schema text: String?
    ) throws(Fault) -> (config: CheckedConfig, origin: Origin) {
        let schema: ConfigSchema
        do throws(SchemaFault) {
            schema =
                try text.map { text throws(SchemaFault) in try ConfigSchema.parse(text) }
                ?? .empty
        } catch {
            throw Fault(lines: [error.message])
        }
        let at = SourcePosition(file: "config", line: 1, column: 1)
        var value = ConfigValue(order.config ?? schema.sample(), at: at)
        for secret in order.secrets {
            let path = secret.name.split(separator: ".").map { String($0) }
            put(secret.value, at: path[...], into: &value)
        }
        let (checked, diagnostics) = schema.check(value, at: at, owner: "the plugin")
        guard diagnostics.isEmpty else {
            throw Fault(lines: diagnostics.map(\.message))
        }
        return (checked, order.config == nil ? .madeUp : .given)
    }

    /// Puts a secret where its name leads, through maps and lists; missing ones are created.
    private static func put(
        _ bytes: [UInt8], at path: ArraySlice<String>, into value: inout ConfigValue
    ) {
        guard let key = path.first else {
            value.kind = .string(String(decoding: bytes, as: UTF8.self))
            value.isSecret = true
            value.secretBytes = bytes
            return
        }
        if let index = Int(key) {
            var items: [ConfigValue] = []
            if case .list(let known) = value.kind { items = known }
            while items.count <= index { items.append(ConfigValue(.null, at: value.position)) }
            put(bytes, at: path.dropFirst(), into: &items[index])
            value.kind = .list(items)
            return
        }
        var entries: [ConfigValue.Entry] = []
        if case .map(let known) = value.kind { entries = known }
        var child = value[key] ?? ConfigValue(.null, at: value.position)
        put(bytes, at: path.dropFirst(), into: &child)
        entries.removeAll { $0.key == key }
        entries.append(.init(key: key, keyPosition: value.position, value: child))
        value.kind = .map(entries)
    }
}
