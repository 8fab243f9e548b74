internal import CLinux
internal import Glibc

/// The folders above a plugin's file: whoever may write to one of them can put another file in its place.
enum PluginPlace {
    /// Throws unless every folder above the file belongs to root or to the user that runs signalbox, and others
    /// cannot replace what is in it.
    static func judge(_ path: String) throws(LoadFault) {
        var folder = path
        while let slash = folder.lastIndex(of: "/"), folder != "/" {
            folder = slash == folder.startIndex ? "/" : String(folder[..<slash])
            var facts = stat()
            guard stat(folder, &facts) == 0 else { continue }
            if let fault = fault(facts, "\(path): the folder \(folder)", folder, isFolder: true) {
                throw LoadFault("plugin-file-unsafe", fault)
            }
        }
    }

    /// Why a file or folder could be changed by others; nil: only root and this user can.
    static func fault(
        _ facts: stat, _ owner: String, _ path: String, isFolder: Bool
    ) -> String? {
        guard facts.st_uid == 0 || facts.st_uid == geteuid() else {
            return
                "\(owner) belongs to user \(facts.st_uid), who is neither root nor the user that "
                + "runs signalbox"
        }
        // In a folder such as /tmp, each may remove only what is theirs.
        if isFolder, facts.st_mode & S_ISVTX != 0 { return nil }
        if facts.st_mode & S_IWOTH != 0 {
            return "\(owner) is writable by everybody: chmod o-w \(path)"
        }
        // A sandbox cannot look groups up; the gateway has done so.
        if facts.st_mode & S_IWGRP != 0, !Confiner.isSandbox,
            !isPrivate(facts.st_gid, of: facts.st_uid)
        {
            return "\(owner) is writable by group \(facts.st_gid): chmod g-w \(path)"
        }
        return nil
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
