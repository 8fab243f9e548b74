internal import CLinux
internal import Glibc

/// An open library file that may be loaded. One that other users may write to or replace is rejected, unless
/// its digest is known.
///
/// All checks use the open file or its copy, so what was checked is what is loaded, whatever happens to the
/// path.
struct PluginFile: ~Copyable {
    /// Identifies one version of a file.
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

        /// The version of the file at a path; nil if the file is missing.
        init?(of path: String) {
            var facts = stat()
            guard stat(path, &facts) == 0 else { return nil }
            self.init(facts)
        }
    }

    let path: String
    let version: Version
    /// The SHA-256 that its copy must have, in hexadecimal; nil accepts any.
    let sha256: String?
    private let file: Int32

    init(_ path: String, sha256: String? = nil) throws(LoadFault) {
        guard path.hasPrefix("/"), access(path, F_OK) == 0 else {
            throw LoadFault("plugin-not-found", "there is no file \(path)")
        }
        if sha256 == nil, let fault = FilePlace.folder(above: path) {
            throw LoadFault(
                "plugin-file-unsafe",
                fault.words("\(path): the folder \(fault.path)", path: fault.path))
        }
        // Opening a pipe without O_NONBLOCK would wait for its writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else {
            throw LoadFault(
                "plugin-not-loadable",
                "\(path) cannot be opened: \(String(cString: strerror(errno)))")
        }
        do throws(LoadFault) {
            version = Version(try Self.judge(file, path, isPinned: sha256 != nil))
        } catch {
            close(file)
            throw error
        }
        self.path = path
        self.sha256 = sha256?.lowercased()
        self.file = file
    }

    deinit { close(file) }

    private static func judge(
        _ file: Int32, _ path: String, isPinned: Bool
    ) throws(LoadFault) -> stat {
        var facts = stat()
        guard fstat(file, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG else {
            throw LoadFault("plugin-file-unsafe", "\(path) is not a regular file")
        }
        if !isPinned, let fault = FilePlace.fault(facts, path) {
            throw LoadFault("plugin-file-unsafe", fault.words(path, path: path))
        }
        return facts
    }

    /// Throws unless the file has the digest that it must have.
    func checkDigest() throws(LoadFault) { try check(FileDigest.sha256(of: file)) }

    /// Reads the digest only if one is asked for.
    private func check(_ read: @autoclosure () -> String?) throws(LoadFault) {
        guard let sha256 else { return }
        let found = read()
        guard found != sha256 else { return }
        throw LoadFault(
            "plugin-other-digest",
            "\(path) has the SHA-256 \(found ?? "of no file"), and not the one in gateway.yaml: if the file "
                + "is meant, write this one there")
    }

    /// A sealed copy in memory of the part that the loader maps, or of the whole file if its digest is required.
    func copy() throws(LoadFault) -> MemoryFile {
        let name = path.split(separator: "/").last.map(String.init) ?? "plugin"
        guard let memory = MemoryFile(String(name.prefix(200))) else { throw noCopy() }
        var chunk = [UInt8](repeating: 0, count: 256 * 1024)
        let loaded = try loadedBytes()
        var left = sha256 == nil ? loaded : Int(version.bytes)
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
        // Checks the copy: another user may own the file and change it.
        try check(memory.sha256)
        return memory
    }

    private func noCopy() -> LoadFault {
        LoadFault(
            "plugin-not-loadable",
            "\(path) cannot be copied into memory: \(String(cString: strerror(errno)))")
    }

    /// How much of the file is mapped; debug information comes after that.
    ///
    /// The whole file if that is unclear; the loader then reports what is wrong. But the loader does not check
    /// that the bytes it maps exist: a truncated file (full disk, unfinished copy) would crash the process.
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

/// An open file that exists only in memory.
struct MemoryFile: ~Copyable {
    let file: Int32

    /// `name` appears in /proc/self/maps.
    init?(_ name: String) {
        file = linux_memory_file(name)
        guard file >= 0 else { return nil }
    }

    deinit { close(file) }

    /// Its path in this process while it is open.
    var path: String { "/proc/self/fd/\(file)" }

    /// Its SHA-256 in hexadecimal; nil if it cannot be read.
    var sha256: String? { FileDigest.sha256(of: file) }

    /// How many folders up the library's `$ORIGIN/..` paths go; nil if it does not use `$ORIGIN`.
    ///
    /// A text search instead of parsing ELF; a false match only costs a few links.
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
