internal import Glibc

/// Resource limits of this process.
public enum ProcessRoom {
    /// Most file descriptors that this process may open.
    public static var descriptorsMax: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1_024
        }
        return Int(clamping: min(limit.rlim_cur, 1 << 20))
    }

    /// Raises the soft limit of file descriptors to the hard limit, at most 65,536; the default of shells is low.
    public static func raiseDescriptors() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 16))
        setrlimit(resource, &limit)
    }

    /// Throws if the process cannot get this many more threads and descriptors at this moment.
    ///
    /// Checked before a gateway starts, because a start that fails halfway cannot report an error. Thread: any.
    public static func require(threads: Int, descriptors: Int) throws(ResourceError) {
        try Descriptors.require(descriptors)
        try EventLoops.requireThreads(threads)
    }
}
