internal import CLinux
internal import Glibc
internal import SignalboxCrypto

/// What identifies the content of a file.
package enum FileDigest {
    /// The SHA-256 of a file in hexadecimal; nil if it is not a regular file or cannot be read.
    package static func sha256(of path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return sha256(of: file)
    }

    /// The SHA-256 of an open file in hexadecimal; nil if it is not a regular file or cannot be read.
    static func sha256(of file: Int32) -> String? {
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(facts.st_size))
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { room in
                pread(file, room.baseAddress?.advanced(by: count), room.count - count, off_t(count))
            }
            guard more > 0 else { return nil }
            count += more
        }
        return Hex.encode(Digest.sha256(bytes))
    }
}
