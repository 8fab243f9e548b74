internal import CLinux
internal import Glibc

/// Who may change a file: everyone who may write to it, or replace it by writing to a folder above it.
/// Only root and the user that runs signalbox should.
package enum FilePlace {
    /// What others can change.
    package struct Fault: Sendable {
        /// The file or folder.
        package let path: String
        package let isFolder: Bool
        /// Why, with what to do.
        fileprivate let why: String
        /// What to do, without the path.
        private let mend: String

        fileprivate init(_ path: String, isFolder: Bool, _ why: String, mend: String = "") {
            (self.path, self.isFolder, self.why, self.mend) = (path, isFolder, why, mend)
        }

        /// As a sentence about `subject`; `path` stands for the place in the command that mends it.
        package func words(_ subject: String, path: String) -> String {
            "\(subject) \(why)" + (mend.isEmpty ? "" : ": \(mend) \(path)")
        }
    }

    /// The first folder above a file that users other than root and `user` can change, or nil.
    package static func folder(above path: String, user: UInt32 = geteuid()) -> Fault? {
        var folder = path
        while let slash = folder.lastIndex(of: "/"), folder != "/" {
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            if let fault = fault(of: folder, user: user) { return fault }
        }
        return nil
    }

    /// Why others can change a file or folder; nil if they cannot, or it does not exist.
    package static func fault(of path: String, user: UInt32 = geteuid()) -> Fault? {
        var facts = stat()
        guard stat(path, &facts) == 0 else { return nil }
        return fault(facts, path, user: user)
    }

    static func fault(_ facts: stat, _ path: String, user: uid_t = geteuid()) -> Fault? {
        let isFolder = facts.st_mode & S_IFMT == S_IFDIR
        guard facts.st_uid == 0 || facts.st_uid == user else {
            return Fault(
                path, isFolder: isFolder,
                "belongs to user \(facts.st_uid), who is neither root nor the user that runs signalbox"
            )
        }
        // In a folder such as /tmp, each may remove only what is theirs.
        if isFolder, facts.st_mode & S_ISVTX != 0 { return nil }
        let mode = mode(facts)
        if facts.st_mode & S_IWOTH != 0 {
            return Fault(
                path, isFolder: isFolder, "is writable by everybody (mode \(mode))",
                mend: "chmod o-w")
        }
        // A sandbox cannot look groups up; the gateway has done so.
        if facts.st_mode & S_IWGRP != 0, !Confiner.isSandbox,
            !isPrivate(facts.st_gid, of: facts.st_uid), !isPrivate(facts.st_gid, of: user)
        {
            return Fault(
                path, isFolder: isFolder,
                "is writable by group \(facts.st_gid) (mode \(mode))", mend: "chmod g-w")
        }
        return nil
    }

    /// Owner and inode of a file or folder; nil if it is missing, a pipe or a device.
    package static func facts(of path: String) -> (
        owner: UInt32, number: UInt64, isFolder: Bool
    )? {
        var facts = stat()
        guard stat(path, &facts) == 0, [S_IFREG, S_IFDIR].contains(facts.st_mode & S_IFMT) else {
            return nil
        }
        return (facts.st_uid, UInt64(facts.st_ino), facts.st_mode & S_IFMT == S_IFDIR)
    }

    /// The octal mode of a file that every user of the machine may read; nil if some may not.
    package static func openMode(of path: String) -> String? {
        var facts = stat()
        guard stat(path, &facts) == 0, facts.st_mode & S_IFMT == S_IFREG,
            facts.st_mode & S_IROTH != 0
        else { return nil }
        let mode = mode(facts)
        // Other users cannot reach a file through a folder that is closed to them.
        var folder = path
        while let slash = folder.lastIndex(of: "/"), folder != "/" {
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            guard stat(folder, &facts) == 0, facts.st_mode & S_IXOTH != 0 else { return nil }
        }
        return mode
    }

    private static func mode(_ facts: stat) -> String {
        let digits = String(facts.st_mode & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// Whether a group is its user's own: distributions that give each user a group have files writable by it.
    private static func isPrivate(_ group: gid_t, of user: uid_t) -> Bool {
        if group == 0 { return true }
        return withEntry(getgrgid_r, group) { (entry: Glibc.group) in
            withEntry(getpwuid_r, user) { (owner: passwd) in
                guard owner.pw_gid == group, let name = owner.pw_name else { return false }
                var members = entry.gr_mem
                while let member = members?.pointee {
                    guard strcmp(member, name) == 0 else { return false }
                    members = members?.successor()
                }
                return strcmp(entry.gr_name, name) == 0
            }
        }
    }

    private static func withEntry<Key, Entry>(
        _ find: (
            Key, UnsafeMutablePointer<Entry>, UnsafeMutablePointer<CChar>, Int,
            UnsafeMutablePointer<UnsafeMutablePointer<Entry>?>
        ) -> Int32,
        _ key: Key, _ judge: (Entry) -> Bool
    ) -> Bool {
        // A group with very many members does not fit, and is no user's own.
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 * 1024) { room in
            withUnsafeTemporaryAllocation(of: Entry.self, capacity: 1) { entry in
                guard let place = entry.baseAddress, let bytes = room.baseAddress else {
                    return false
                }
                var found: UnsafeMutablePointer<Entry>?
                guard find(key, place, bytes, room.count, &found) == 0, let found else {
                    return false
                }
                return judge(found.pointee)
            }
        }
    }
}
