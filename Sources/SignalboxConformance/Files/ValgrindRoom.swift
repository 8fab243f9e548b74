internal import Glibc
internal import SignalboxPluginHost

/// A folder for a run under memcheck, removed with the object.
///
/// Memcheck gives up on files whose debug information it cannot read, as with some compilers. It
/// gets copies whose section table is hidden: they run as usual, and memcheck reads no debug
/// information from them.
final class ValgrindRoom {
    let program: String
    let plugin: String
    let log: String
    /// Where the copy of the program finds its libraries.
    let environment: [String: String]
    private let folder: String

    init?(program: String, plugin: String) {
        // mkdtemp() replaces six of these with letters of its own.
        let pattern = "/tmp/signalbox-check-" + String(repeating: "X", count: 6)
        var name = Array(pattern.utf8CString)
        guard mkdtemp(&name) != nil else { return nil }
        folder = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.program = "\(folder)/signalbox"
        self.plugin = "\(folder)/plugin.so"
        log = "\(folder)/memcheck.xml"
        environment = ["LD_LIBRARY_PATH": Self.libraryFolders.joined(separator: ":")]
        guard Self.copy(program, to: self.program), Self.copy(plugin, to: self.plugin) else {
            remove()
            return nil
        }
    }

    deinit { remove() }

    private func remove() {
        for file in [program, plugin, log] { unlink(file) }
        rmdir(folder)
    }

    private static func copy(_ source: String, to target: String) -> Bool {
        guard case .success(var bytes) = FileReader.read(source), bytes.count > 64 else {
            return false
        }
        // Offset, count and name index of the section table in a 64-bit ELF header.
        for place in Array(40..<48) + Array(60..<64) { bytes[place] = 0 }
        guard let file = fopen(target, "wb") else { return false }
        let written = fwrite(bytes, 1, bytes.count, file)
        return fclose(file) == 0 && written == bytes.count && chmod(target, 0o700) == 0
    }

    /// Folders from which this process loaded its Swift libraries.
    private static var libraryFolders: Set<String> {
        guard case .success(let bytes) = FileReader.read("/proc/self/maps") else { return [] }
        var out: Set<String> = []
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            guard let start = line.firstIndex(of: "/"), let end = line.lastIndex(of: "/"),
                line[end...].hasPrefix("/libswift")
            else { continue }
            out.insert(String(line[start..<end]))
        }
        return out
    }
}
