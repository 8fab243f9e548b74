/// A place in a configuration file; lines and columns count from 1.
public struct SourcePosition: Sendable, Hashable {
    /// Path as the user gave it.
    public var file: String
    /// Line, from 1.
    public var line: Int
    /// Column, from 1.
    public var column: Int

    /// Makes a position.
    public init(file: String, line: Int, column: Int) {
        self.file = file
        self.line = line
        self.column = column
    }
}

/// A value read from a configuration file, with its position.
public struct ConfigValue: Sendable {
    /// A member of a map.
    public struct Entry: Sendable {
        /// The member's name.
        public var key: String
        /// Position of the name.
        public var keyPosition: SourcePosition
        /// The member's value.
        public var value: ConfigValue

        /// Makes an entry.
        public init(key: String, keyPosition: SourcePosition, value: ConfigValue) {
            self.key = key
            self.keyPosition = keyPosition
            self.value = value
        }
    }

    /// What it is.
    public enum Kind: Sendable {
        case null
        case bool(Bool)
        case integer(Int64)
        case number(Double)
        case string(String)
        case list([ConfigValue])
        /// In the file's order, names unique.
        case map([Entry])
    }

    /// What it is.
    public var kind: Kind
    /// Position of the value.
    public var position: SourcePosition
    /// Whether it holds a `${...}` secret, which must never reach a log or an error.
    public var isSecret: Bool
    /// Whether a part of it stands in for a variable or file that is missing.
    public var isStandIn = false
    /// The path, if the whole value is one `${file:path}`; watched for changes.
    public var secretFile: String?
    /// The bytes of such a file if it is not text (PKCS#12).
    public var secretBytes: [UInt8]?

    /// Makes a value.
    public init(
        _ kind: Kind, at position: SourcePosition, isSecret: Bool = false,
        secretFile: String? = nil
    ) {
        self.kind = kind
        self.position = position
        self.isSecret = isSecret
        self.secretFile = secretFile
    }

    /// The member of a map, or nil.
    public subscript(key: String) -> ConfigValue? {
        guard case .map(let entries) = kind else { return nil }
        return entries.first { $0.key == key }?.value
    }

    /// The text of a string value, or nil.
    public var string: String? {
        guard case .string(let text) = kind else { return nil }
        return text
    }
}
