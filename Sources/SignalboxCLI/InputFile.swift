import ArgumentParser
import Glibc

/// Files named on the command line.
enum InputFile {
    /// The bytes of a file, or of standard input for `-`; `option` names who asks.
    static func read(_ path: String, _ option: String) throws -> [UInt8] {
        guard let file = path == "-" ? fdopen(dup(STDIN_FILENO), "rb") : fopen(path, "rb") else {
            throw ValidationError(
                errno == ENOENT
                    ? "\(option): there is no file \(path)"
                    : "\(option): cannot read \(path): \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }
}
