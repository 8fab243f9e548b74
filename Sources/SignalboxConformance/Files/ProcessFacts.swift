internal import Glibc

/// Properties of the process that a plugin must not change.
struct ProcessFacts: Equatable {
    private let handlers: [UInt]
    private let folder: String
    private let locale: String
    private let environment: [String]
    private let mask: mode_t

    /// Reads the current state.
    init() {
        handlers = (Int32(1)...31).map { signal in
            var action = sigaction()
            guard sigaction(signal, nil, &action) == 0 else { return 0 }
            return withUnsafeBytes(of: &action) { UInt($0.loadUnaligned(as: UInt64.self)) }
        }
        folder =
            getcwd(nil, 0).map { text in
                defer { free(text) }
                return String(cString: text)
            } ?? ""
        locale = setlocale(LC_ALL, nil).map { String(cString: $0) } ?? ""
        var variables: [String] = []
        var next = environ
        while let entry = next.pointee {
            variables.append(String(cString: entry))
            next += 1
        }
        environment = variables
        mask = umask(0)
        umask(mask)
    }

    /// Describes what changed.
    func changes(to later: ProcessFacts) -> [String] {
        var out: [String] = []
        for (index, handler) in handlers.enumerated() where later.handlers[index] != handler {
            let name = strsignal(Int32(index + 1)).map { String(cString: $0) } ?? ""
            out.append("the handler of signal \(index + 1) (\(name)) was changed")
        }
        if folder != later.folder { out.append("the working folder was changed") }
        if locale != later.locale { out.append("the locale was changed") }
        if environment != later.environment { out.append("the environment was changed") }
        if mask != later.mask { out.append("the umask was changed") }
        return out
    }
}

/// Counts the threads and open files of this process.
enum ProcessCounts {
    /// The ids of the threads.
    static var threads: Set<String> { names("/proc/self/task") }

    /// Open descriptors with their targets, except the one that reads the folder.
    static var files: [String: String] {
        var out: [String: String] = [:]
        for name in names("/proc/self/fd") {
            var target = [UInt8](repeating: 0, count: 512)
            let count = target.withUnsafeMutableBytes { room -> Int in
                guard let start = room.baseAddress else { return 0 }
                return readlink(
                    "/proc/self/fd/\(name)", start.assumingMemoryBound(to: CChar.self), room.count)
            }
            // This descriptor was reading the folder.
            guard count > 0 else { continue }
            out[name] = String(decoding: target[..<count], as: UTF8.self)
        }
        return out
    }

    /// The name of a thread.
    static func name(ofThread id: String) -> String {
        guard let file = fopen("/proc/self/task/\(id)/comm", "r") else { return "" }
        defer { fclose(file) }
        var line = [CChar](repeating: 0, count: 64)
        guard fgets(&line, 64, file) != nil else { return "" }
        return String(
            decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) },
            as: UTF8.self)
    }

    private static func names(_ folder: String) -> Set<String> {
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var out: Set<String> = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { out.insert(name) }
        }
        return out
    }
}
