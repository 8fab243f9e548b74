internal import CLinux
internal import Glibc

/// A library file that was opened and may be loaded: code that anybody may replace is not.
///
/// Everything is asked of the open file, so what was judged is what is read, whatever happens to the path.
struct PluginFile: ~Copyable {
    /// What makes a file another one.
    struct Version: Hashable {
        var device: UInt64
        var inode: UInt64
        var bytes: Int64
        var seconds: Int
        var nanoseconds: Int

        init(_ facts: stat) {
            device = UInt64(facts.st_dev)
            inode = UInt64(facts.st_ino)
            bytes = Int64(facts.st_size)
            seconds = facts.st_mtim.tv_sec
            nanoseconds = facts.st_mtim.tv_nsec
        }

        /// Of what a path leads to; nil: to nothing.
        init?(of path: String) {
            var facts = stat()
            guard stat(path, &facts) == 0 else { return nil }
            self.init(facts)
        }
    }

    let path: String
    let version: Version
    private let file: Int32

    init(_ path: String) throws(LoadFault) {
        guard path.hasPrefix("/"), access(path, F_OK) == 0 else {
            throw LoadFault("plugin-not-found", "there is no file \(path)")
        }
        // Opening a pipe would wait for its writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw LoadFault(
                "plugin-not-loadable",
                "\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        do throws(LoadFault) {
            version = Version(try Self.judge(file, path))
        } catch {
            close(file)
            throw error
        }
        self.path = path
        self.file = file
    }

    deinit { close(file) }

    private static func judge(_ file: Int32, _ path: String) throws(LoadFault) -> stat {
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw LoadFault("plugin-file-unsafe", "\(path) is not a regular file")
        }
        guard facts.st_mode & S_IWOTH == 0 else {
            throw LoadFault(
                "plugin-file-unsafe", "\(path) may be written by anybody: chmod o-w \(path)")
        }
        guard facts.st_uid == 0 || facts.st_uid == geteuid() else {
            throw LoadFault(
                "plugin-file-unsafe",
                "\(path) belongs to user \(facts.st_uid), who is neither root nor the user that "
                    + "runs signalbox")
        }
        return facts
    }

    /// What the loader maps of it, in memory and never changed again.
    func copy() throws(LoadFault) -> MemoryFile {
        let name = path.split(separator: "/").last.map(String.init) ?? "plugin"
        guard let memory = MemoryFile(String(name.prefix(200))) else { throw noCopy() }
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        var left = try loadedBytes()
        while left > 0 {
            let count = read(file, &chunk, min(left, chunk.count))
            if count == 0 { break }
            guard count > 0, write(memory.file, chunk, count) == count else { throw noCopy() }
            left -= count
        }
        var facts = stat()
        guard fstat(file, &facts) == 0, Version(facts) == version, linux_seal(memory.file) == 0
        else {
            throw LoadFault(
                "plugin-not-loadable",
                "\(path) is being written to; write the new file beside it and rename it (mv)")
        }
        return memory
    }

    private func noCopy() -> LoadFault {
        LoadFault(
            "plugin-not-loadable",
            "\(path) cannot be copied into memory: \(String(cString: strerror(errno)))")
    }

    /// How much of the file is ever mapped: what debuggers want to know comes after it.
    ///
    /// All of it if that is unclear; the loader then says what is wrong. But it does not look whether what it
    /// maps is there: a file that was cut (a full disk, a copy that is not finished) would crash the process.
    private func loadedBytes() throws(LoadFault) -> Int {
        let all = Int(version.bytes)
        var header = Elf64_Ehdr()
        let size = MemoryLayout<Elf64_Ehdr>.size
        guard pread(file, &header, size, 0) == size, header.e_ident.0 == 0x7F,
            header.e_ident.4 == ELFCLASS64, header.e_phoff < all
        else { return all }
        var end = 0
        for index in 0..<Int(header.e_phnum) {
            var part = Elf64_Phdr()
            let place = Int(header.e_phoff) + index * Int(header.e_phentsize)
            let size = MemoryLayout<Elf64_Phdr>.size
            guard pread(file, &part, size, place) == size else { return all }
            guard part.p_type == PT_LOAD else { continue }
            let (partEnd, isTooLarge) = part.p_offset.addingReportingOverflow(part.p_filesz)
            guard !isTooLarge, partEnd <= UInt64(all) else {
                throw LoadFault(
                    "plugin-not-loadable",
                    "\(path) is incomplete: it has \(all) of at least \(partEnd) bytes; copy it again, "
                        + "beside the old one, and rename it (mv)")
            }
            end = max(end, Int(partEnd))
        }
        return end == 0 ? all : end
    }
}

/// An open file that exists in memory alone.
struct MemoryFile: ~Copyable {
    let file: Int32

    /// `name` shows in /proc/self/maps.
    init?(_ name: String) {
        file = linux_memory_file(name)
        guard file >= 0 else { return nil }
    }

    deinit { close(file) }

    /// Where this process finds it as long as it is open.
    var path: String { "/proc/self/fd/\(file)" }

    /// How many folders above its own the library names in `$ORIGIN/..`; nil: it does not name its own.
    ///
    /// A text search instead of reading ELF: a wrong hit costs a few links.
    var foldersAboveOrigin: Int? {
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_size > 0 else { return nil }
        let count = Int(facts.st_size)
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED
        else { return nil }
        defer { munmap(start, count) }
        let bytes = UnsafeRawBufferPointer(start: start, count: count)
        var most: Int?
        var place = 0
        while let hit = memchr(start + place, Int32(UInt8(ascii: "O")), count - place) {
            place = start.distance(to: hit) + 1
            var rest = bytes[place...].prefix(64)
            guard rest.starts(with: "RIGIN".utf8) else { continue }
            rest.removeFirst(5)
            if rest.first == UInt8(ascii: "}") { rest.removeFirst() }
            var above = 0
            while rest.starts(with: "/..".utf8) {
                rest.removeFirst(3)
                above += 1
            }
            most = max(most ?? 0, above)
        }
        return most
    }
}
