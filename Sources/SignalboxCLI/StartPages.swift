import Glibc

/// Memory pages of the program and its libraries that only the start needed.
///
/// Relocations, the initialisers of sixty libraries and reading the configuration use much code
/// once, which would stay resident for weeks. Pages that are needed again are mapped anew from the
/// page cache, sixteen at a time.
enum StartPages {
    /// Gives the pages back to the kernel. Returns how many KiB.
    ///
    /// Must not run while a library is being loaded.
    @discardableResult
    static func giveBack() -> Int {
        guard let file = fopen("/proc/self/smaps", "re") else { return 0 }
        defer { fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        var region: Region?
        var given = 0
        while getline(&line, &room, file) > 0 {
            guard let line else { break }
            let text = String(cString: line)
            if let next = Region(text) {
                region = next.isOfFile ? next : nil
            } else if let size = kibibytes(text, "Rss:") {
                region?.resident = size
            } else if let known = region, let size = kibibytes(text, "Anonymous:") {
                region = nil
                // Pages that were written to, such as relocation tables, exist only in memory.
                guard size == 0, known.resident > 0, known.letGo() else { continue }
                given += known.resident
            }
        }
        return given
    }

    private static func kibibytes(_ line: String, _ name: String) -> Int? {
        guard line.hasPrefix(name) else { return nil }
        return line.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    /// A mapping, such as `7f00-7f80 r-xp 00000000 fe:00 42   /usr/lib/libc.so.6`.
    private struct Region {
        let start: UInt
        let end: UInt
        /// Whether it is code or constants of a file, which no one writes to.
        let isOfFile: Bool
        var resident = 0

        init?(_ line: String) {
            let parts = line.split(whereSeparator: \.isWhitespace)
            let ends = parts.first?.split(separator: "-") ?? []
            guard parts.count >= 5, ends.count == 2, let start = UInt(ends[0], radix: 16),
                let end = UInt(ends[1], radix: 16)
            else { return nil }
            self.start = start
            self.end = end
            isOfFile =
                (parts[1] == "r-xp" || parts[1] == "r--p") && parts.count >= 6
                && parts[5].hasPrefix("/")
        }

        func letGo() -> Bool {
            madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_DONTNEED)
                == 0
        }
    }
}
