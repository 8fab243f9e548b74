internal import Glibc

/// What the system still lets this process have.
public enum ProcessRoom {
    /// Most file descriptors that this process may have open.
    public static var descriptorsMax: Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 1_024
        }
        return Int(clamping: min(limit.rlim_cur, 1 << 20))
    }

    /// Raises the limit of descriptors as far as the process may: what shells set is for programs that need few.
    public static func raiseDescriptors() {
        var limit = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 16))
        setrlimit(resource, &limit)
    }

    /// Throws if there is no room for so many more threads and descriptors at this moment.
    ///
    /// A gateway asks before it starts: what it begins cannot be ended halfway with words. Thread: any.
    public static func require(threads: Int, descriptors: Int) throws(ResourceError) {
        try Descriptors.require(descriptors)
        try EventLoops.requireThreads(threads)
    }
}
