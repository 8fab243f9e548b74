internal import Glibc

/// Reads whole files.
enum FileReader {
    struct Fault: Error {}

    /// The bytes of a file, up to a gibibyte.
    static func read(_ path: String) -> Result<[UInt8], Fault> {
        guard let file = fopen(path, "rb") else { return .failure(Fault()) }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while bytes.count < 1 << 30 {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return .success(bytes)
    }
}
