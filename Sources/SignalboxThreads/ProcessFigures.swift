internal import Glibc

/// What the kernel says about this process.
public struct ProcessFigures: Sendable {
    /// Processor time, user and system.
    public let cpuSeconds: Double
    /// Resident memory.
    public let residentBytes: UInt64
    /// Virtual memory.
    public let virtualBytes: UInt64
    /// Threads.
    public let threads: Int
    /// When the process started.
    public let startUnixSeconds: Double
    /// Open file descriptors; nil if no descriptor is left to count them with.
    public let openDescriptors: Int?

    /// The current figures; nil where `/proc` is missing.
    public static func now() -> ProcessFigures? {
        guard let text = read("/proc/self/stat"), let end = text.lastIndex(of: ")") else {
            return nil
        }
        // The name, which may hold anything, ends with the last parenthesis. `state`, the third field, is the first here.
        let fields = text[end...].dropFirst().split(separator: " ").map(String.init)
        func number(_ field: Int) -> UInt64 {
            field - 3 < fields.count ? UInt64(fields[field - 3]) ?? 0 : 0
        }
        let ticks = Double(max(1, sysconf(Int32(_SC_CLK_TCK))))
        let page = UInt64(max(1, sysconf(Int32(_SC_PAGESIZE))))
        let sinceBoot = Double(SystemClock.sinceBootNs) / 1e9
        let bootUnix = Double(SystemClock.unixMs) / 1e3 - sinceBoot
        return ProcessFigures(
            cpuSeconds: Double(number(14) + number(15)) / ticks, residentBytes: number(24) * page,
            virtualBytes: number(23), threads: Int(number(20)),
            // Rounded: the clocks are read one after the other.
            startUnixSeconds: (bootUnix + Double(number(22)) / ticks).rounded(),
            openDescriptors: openDescriptors())
    }

    private static func read(_ path: String) -> String? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = Glibc.read(file, &bytes, bytes.count)
        guard count > 0 else { return nil }
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }

    private static func openDescriptors() -> Int? {
        guard let folder = opendir("/proc/self/fd") else { return nil }
        defer { closedir(folder) }
        var count = 0
        while readdir(folder) != nil { count += 1 }
        // `.`, `..` and the descriptor that reads them.
        return max(0, count - 3)
    }
}
