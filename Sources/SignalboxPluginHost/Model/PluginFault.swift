package import CSignalbox

/// A failed call into a plugin, or for a plugin.
public struct PluginFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Mirrors `SBX_E_*`.
    public enum Kind: Int32, Sendable {
        case `internal` = -1
        case version = -2
        case invalid = -3
        case unsupported = -4
        case again = -5
        case timeout = -6
        case auth = -7
        case notFound = -8
        case tooLarge = -9
        case unreachable = -10
        case lost = -11
        case stopping = -12
    }

    /// What kind of fault.
    public let kind: Kind
    /// A message for people; it contains no secret.
    public let message: String

    /// Makes a fault.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    /// The fault that a plugin returned; `words` are the message if the plugin wrote none.
    package init(status: sbx_status, error: sbx_error, otherwise words: String? = nil) {
        kind = Kind(rawValue: status) ?? .internal
        message = words.flatMap { error.hasMessage ? nil : $0 } ?? error.words(for: status)
    }

    /// The message.
    public var description: String { message }

    /// The status that a service returns to a plugin: OK, or the kind of fault.
    static func status(of body: () throws(PluginFault) -> Void) -> sbx_status {
        do throws(PluginFault) {
            try body()
            return SBX_OK
        } catch {
            return error.kind.rawValue
        }
    }

    static func word(for status: sbx_status) -> String {
        switch Kind(rawValue: status) {
        case .internal: "the plugin failed and gave no reason"
        case .version: "the versions do not fit"
        case .invalid: "the plugin rejected it as malformed and gave no reason"
        case .unsupported: "the plugin does not offer it"
        case .again: "the plugin cannot take it now and gave no reason"
        case .timeout: "the time was up"
        case .auth: "not authorised"
        case .notFound: "not found"
        case .tooLarge: "too large"
        case .unreachable: "unreachable"
        case .lost: "the connection was lost"
        case .stopping: "stopping"
        case nil: "the plugin returned the unknown status \(status)"
        }
    }
}
