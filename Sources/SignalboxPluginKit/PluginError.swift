internal import CSignalbox

/// Why a call failed.
///
/// Never put a secret, a device token or a message body into the message: the host logs it.
public struct PluginError: Error, Sendable, CustomStringConvertible {
    /// A status of the contract.
    public struct Status: Sendable, Hashable {
        let code: Int32
        /// A fault of the plugin.
        public static let `internal` = Status(code: SBX_E_INTERNAL)
        /// An argument, a config or a body is malformed.
        public static let invalid = Status(code: SBX_E_INVALID)
        /// Well-formed, but not offered.
        public static let unsupported = Status(code: SBX_E_UNSUPPORTED)
        /// Not now; retry later, for example when a credential is available.
        public static let again = Status(code: SBX_E_AGAIN)
        /// The deadline passed.
        public static let timeout = Status(code: SBX_E_TIMEOUT)
        /// A signature, a password or a token is wrong.
        public static let auth = Status(code: SBX_E_AUTH)
        /// What was asked for does not exist.
        public static let notFound = Status(code: SBX_E_NOT_FOUND)
        /// A limit is exceeded.
        public static let tooLarge = Status(code: SBX_E_TOO_LARGE)
        /// No connection was made.
        public static let unreachable = Status(code: SBX_E_UNREACHABLE)
        /// The connection broke.
        public static let lost = Status(code: SBX_E_LOST)
        /// The host is shutting down.
        public static let stopping = Status(code: SBX_E_STOPPING)
    }

    /// The kind of failure.
    public var status: Status
    /// A message for people.
    public var message: String

    /// Makes an error.
    public init(_ status: Status, _ message: String) {
        self.status = status
        self.message = message
    }

    init(code: Int32, error: sbx_error? = nil) {
        status = Status(code: code)
        let words = error?.words ?? ""
        message = words.isEmpty ? Self.words(code) : words
    }

    /// Throws unless a function of the host has returned OK.
    static func check(_ code: sbx_status, _ why: String) throws(PluginError) {
        if code != SBX_OK { throw PluginError(Status(code: code), why) }
    }

    static func words(_ status: sbx_status) -> String {
        switch status {
        case SBX_E_AGAIN: "the host cannot take the call now"
        case SBX_E_STOPPING: "the host is stopping"
        case SBX_E_UNSUPPORTED: "the host does not offer the service"
        case SBX_E_UNREACHABLE: "the destination cannot be reached"
        case SBX_E_TIMEOUT: "the call took too long"
        case SBX_E_TOO_LARGE: "the call or its answer is too large"
        case SBX_E_LOST: "the connection was lost"
        default: "the host rejected the call (status \(status))"
        }
    }

    /// The message.
    public var description: String { message }

    /// Writes the error to the host's struct.
    func report(to error: UnsafeMutablePointer<sbx_error>?) -> sbx_status {
        guard let error, error.pointee.struct_size >= sbx_error.sizeWithMessage else {
            return status.code
        }
        error.pointee.status = status.code
        var cut = message
        while cut.utf8.count > 243 { cut.removeLast() }
        withUnsafeMutableBytes(of: &error.pointee.message) { target in
            target.initializeMemory(as: UInt8.self, repeating: 0)
            target.copyBytes(from: cut.utf8)
        }
        return status.code
    }
}

/// Runs a method of a plugin for a function of the contract: a thrown error becomes a status, and its
/// message is written to the host's struct.
func reporting(
    to error: UnsafeMutablePointer<sbx_error>?, _ body: () throws(PluginError) -> Void
) -> sbx_status {
    do throws(PluginError) {
        try body()
        return SBX_OK
    } catch let fault {
        return fault.report(to: error)
    }
}

extension sbx_error {
    /// The size at which a struct has a message; the host that made it may not know any later field.
    static let sizeWithMessage: Int = {
        let whole = MemoryLayout<sbx_error>.size
        let start = MemoryLayout<sbx_error>.offset(of: \.message)
        return start.map { $0 + MemoryLayout.size(ofValue: sbx_error().message) } ?? whole
    }()

    static var fresh: sbx_error {
        var error = sbx_error()
        error.struct_size = UInt32(MemoryLayout<sbx_error>.size)
        return error
    }

    var words: String {
        withUnsafeBytes(of: message) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
