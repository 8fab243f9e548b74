internal import Glibc

/// The system refused file descriptors or threads at startup.
public struct ResourceError: Error, Sendable, CustomStringConvertible {
    /// Names the missing resource, the system's reason and what to change.
    public let message: String

    /// The message.
    public var description: String { message }
}

/// Checks for free file descriptors.
enum Descriptors {
    /// Throws if the process cannot open `count` more descriptors at this moment.
    ///
    /// NIO aborts the process if an event loop gets none, so this is checked at startup. Thread: any.
    static func require(_ count: Int) throws(ResourceError) {
        var opened: [Int32] = []
        defer { for descriptor in opened { close(descriptor) } }
        for _ in 0..<count {
            // Every process can open the root directory.
            let descriptor = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else {
                throw ResourceError(
                    message: "\(count) more file descriptors are needed: "
                        + "\(SystemError.text(errno)); raise the limit "
                        + "(ulimit -n, LimitNOFILE= of systemd)")
            }
            opened.append(descriptor)
        }
    }
}

/// Error numbers of the system.
enum SystemError {
    /// The system's message: `too many open files`.
    static func text(_ number: Int32) -> String {
        var buffer = [CChar](repeating: 0, count: 128)
        // Thread-safe, unlike strerror.
        guard strerror_r(number, &buffer, buffer.count) == 0 else { return "error \(number)" }
        let bytes = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }
}
