internal import Glibc

/// What this thread is doing for a plugin.
final class ThreadNote {
    enum Tag { case control, worker }

    let tag: Tag
    /// `prepare()`, for the text of a finding.
    let name: String
    /// Whether the call refreshes a credential.
    let isRefresh: Bool
    private let outer: ThreadNote?

    private init(_ tag: Tag, _ name: String, isRefresh: Bool, outer: ThreadNote?) {
        self.tag = tag
        self.name = name
        self.isRefresh = isRefresh
        self.outer = outer
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()

    /// The note of this thread; nil if it is in no call of ours.
    static var current: ThreadNote? {
        pthread_getspecific(key).map {
            Unmanaged<ThreadNote>.fromOpaque($0).takeUnretainedValue()
        }
    }

    /// Makes a call into a plugin.
    static func run<Result>(
        _ tag: Tag, _ name: String, isRefresh: Bool = false, _ body: () -> Result
    ) -> Result {
        let outer = current
        let note = ThreadNote(tag, name, isRefresh: isRefresh, outer: outer)
        pthread_setspecific(key, Unmanaged.passUnretained(note).toOpaque())
        defer {
            pthread_setspecific(key, outer.map { Unmanaged.passUnretained($0).toOpaque() })
        }
        return withExtendedLifetime(note) { body() }
    }
}
