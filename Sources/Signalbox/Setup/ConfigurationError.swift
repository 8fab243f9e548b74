public import SignalboxCore

/// An unusable configuration, with all its faults.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// In the file's order.
    public let diagnostics: [Diagnostic]

    /// One line per fault.
    public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
