public import SignalboxCore

/// A configuration that cannot be used, with everything that is wrong with it.
public struct ConfigurationError: Error, Sendable, CustomStringConvertible {
    /// In the file's order.
    public let diagnostics: [Diagnostic]

    /// One line per fault.
    public var description: String { diagnostics.map(\.description).joined(separator: "\n") }
}
