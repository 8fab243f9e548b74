public import SignalboxCore

/// An unusable configuration, with all its faults.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// In the file's order.
    public let diagnostics: [Diagnostic]

    package init(diagnostics: [Diagnostic]) { self.diagnostics = diagnostics }

    /// One line per fault.
    public var description: String { diagnostics.map(\.description).joined(separator: "\n") }

    /// One JSON object: `{"faults":[{"code","message","file","line","column"}]}`.
    public var json: String {
        JSONValue.object([.init("faults", .array(diagnostics.map(\.json)))]).text
    }

    /// Whether it may pass without a change of the file: the disk is full, another gateway uses the data folder, or the
    /// database is unreachable.
    public var isTemporary: Bool {
        diagnostics.allSatisfy { StoreError.temporaryCodes.contains($0.code) }
    }
}

extension StoreError {
    /// Codes of errors that may pass by themselves.
    package static let temporaryCodes: Set = [
        "store-full", "store-in-use", "store-unreachable", "store-locked",
    ]
}

extension Diagnostic {
    /// For scripts and programs.
    package var json: JSONValue {
        [
            "code": .string(code), "message": .string(message), "file": .string(position.file),
            "line": .integer(Int64(position.line)), "column": .integer(Int64(position.column)),
        ]
    }
}
