internal import Glibc

/// The variables and files that a configuration may read.
public struct ConfigEnvironment: Sendable {
    /// Why a file cannot be read.
    public enum FileFault: Error, Sendable {
        case missing
        case notReadable
        case tooLarge
        /// A pipe or a device, which could block the read forever.
        case notAFile

        /// The rest of a message that begins with the file's name.
        public var words: String {
            switch self {
            case .missing: "does not exist"
            case .notReadable: "cannot be read"
            case .tooLarge: "is over 1 MiB"
            case .notAFile: "is a pipe or a device, not a file"
            }
        }
    }

    /// A missing reference of a configuration.
    public enum Missing: Sendable, Hashable {
        /// `${env:NAME}` without a default.
        case variable(String)
        /// `${file:path}`, as written.
        case file(String)
    }

    /// Largest configuration or secret file, in bytes.
    public static let fileBytesMax = 1 << 20

    /// Environment variables.
    public var variables: [String: String]
    /// Reads a file by its absolute path.
    public var readFile: @Sendable (String) -> Result<[UInt8], FileFault>
    /// Replaces missing values where a configuration is only inspected; nil if a missing value is a fault.
    public var standIn: (@Sendable (Missing) -> String)?

    /// Makes an environment, for example for tests.
    public init(
        variables: [String: String],
        readFile: @escaping @Sendable (String) -> Result<[UInt8], FileFault>
    ) {
        self.variables = variables
        self.readFile = readFile
    }

    /// The process's own variables and the file system.
    public static var process: ConfigEnvironment {
        ConfigEnvironment(variables: processVariables(), readFile: { Self.read($0) })
    }

    private static func processVariables() -> [String: String] {
        var out: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let text = String(cString: entry)
            if let mark = text.firstIndex(of: "=") {
                out[String(text[..<mark])] = String(text[text.index(after: mark)...])
            }
            next += 1
        }
        return out
    }

    /// Reads a file of at most `fileBytesMax`. Pipes are read only if a shell passes them, such as /dev/stdin.
    public static func read(_ path: String) -> Result<[UInt8], FileFault> {
        let isHandedOver =
            path.hasPrefix("/dev/fd/") || path == "/dev/stdin" || path.hasPrefix("/proc/self/fd/")
        // Without O_NONBLOCK, opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | (isHandedOver ? 0 : O_NONBLOCK))
        guard descriptor >= 0 else {
            return .failure(errno == ENOENT || errno == ENOTDIR ? .missing : .notReadable)
        }
        defer { close(descriptor) }
        var facts = stat()
        guard fstat(descriptor, &facts) == 0, facts.st_mode & S_IFMT != S_IFDIR else {
            return .failure(.notReadable)
        }
        guard isHandedOver || facts.st_mode & S_IFMT == S_IFREG else { return .failure(.notAFile) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 { return .failure(.notReadable) }
            if count == 0 { return .success(bytes) }
            bytes += chunk[..<count]
            if bytes.count > fileBytesMax { return .failure(.tooLarge) }
        }
    }
}
