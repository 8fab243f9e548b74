/// What the system still lets this process have.
public enum ProcessRoom {
    /// Throws if there is no room for so many more threads and descriptors at this moment.
    ///
    /// A gateway asks before it starts: what it begins cannot be ended halfway with words. Thread: any.
    public static func require(threads: Int, descriptors: Int) throws(ResourceError) {
        try Descriptors.require(descriptors)
        try EventLoops.requireThreads(threads)
    }
}
