internal import Glibc

/// How much room a disk has.
package enum DiskSpace {
    /// Less for `gateway.data` is too little to start with: the database's log takes as much, and events are refused
    /// when half of it is left.
    package static let bytesWanted: UInt64 = 64 << 20

    /// Free bytes on the disk of a file.
    package static func free(_ path: String) -> UInt64 {
        var facts = statvfs()
        guard statvfs(path, &facts) == 0 else { return .max }
        return UInt64(facts.f_bavail) * UInt64(facts.f_frsize)
    }
}
