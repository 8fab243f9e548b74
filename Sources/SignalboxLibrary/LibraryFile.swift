internal import Glibc

/// Finds the file of this library.
enum LibraryFile {
    /// Its path, or nil.
    static var path: String? {
        guard let maps = fopen("/proc/self/maps", "re") else { return nil }
        defer { fclose(maps) }
        let address = UInt(bitPattern: #dsohandle)
        var line: UnsafeMutablePointer<CChar>?
        var room = 0
        defer { free(line) }
        // "7f00-7f20 r-xp 00000000 08:01 1234 /path"
        while getline(&line, &room, maps) > 0, let line {
            let text = String(cString: line)
            guard let range = text.split(separator: " ").first?.split(separator: "-"),
                range.count == 2, let low = UInt(range[0], radix: 16),
                let high = UInt(range[1], radix: 16), (low..<high).contains(address),
                let at = text.firstIndex(of: "/")
            else { continue }
            return String(text[at...].prefix { $0 != "\n" })
        }
        return nil
    }
}
