internal import Glibc
internal import SignalboxThreads

/// Names the plugin in whose call a thread has crashed: such a crash ends the gateway, too, and nothing else in the
/// log tells the cause.
package enum CrashReport {
    /// The name of the instance that each thread is in a call of, or the file of a library that is being loaded.
    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key, nil)
        return key
    }()
    /// What handled each signal before: Swift's backtrace, if it is on, or nothing.
    nonisolated(unsafe) private static var before: UnsafeMutablePointer<sigaction>?

    /// A call begins on this thread; returns the owner of the outer call.
    static func enter(_ owner: UnsafePointer<CChar>?) -> UnsafeMutableRawPointer? {
        guard let owner else { return nil }
        let outer = pthread_getspecific(key)
        pthread_setspecific(key, owner)
        return outer
    }

    /// A library is being loaded on this thread: it has no instance yet, and is named by its file.
    struct Load {
        private let text: UnsafeMutablePointer<CChar>?
        private let outer: UnsafeMutableRawPointer?

        init(_ path: String) {
            SystemThread.prepareForOverflow()
            text = strdup(path)
            outer = CrashReport.enter(text)
        }

        func end() {
            CrashReport.leave(to: outer, from: text)
            free(text)
        }
    }

    /// A call has ended.
    static func leave(to outer: UnsafeMutableRawPointer?, from owner: UnsafePointer<CChar>?) {
        if owner != nil { pthread_setspecific(key, outer) }
    }

    /// Handles the signals of crashes in this process, once; for programs that only run a gateway.
    package static func install() {
        guard before == nil else { return }
        let actions = UnsafeMutablePointer<sigaction>.allocate(capacity: 65)
        actions.initialize(repeating: sigaction(), count: 65)
        before = actions
        _ = key
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { CrashReport.handle($0) }
        // A thread may have used up its own stack; `SystemThread` gives each another one for this.
        action.sa_flags = SA_ONSTACK
        for signal in SystemThread.faults { sigaction(signal, &action, &actions[Int(signal)]) }
        // A plugin that calls exit() ends the gateway, too, and as if all were well: its supervisor must see a fault.
        atexit { CrashReport.handleExit() }
    }

    private static func handleExit() {
        guard let owner = pthread_getspecific(key) else { return }
        tell("signalbox: it was ended by exit() ", owner)
        _exit(70)
    }

    /// Async-signal-safe: it allocates no memory and takes no lock.
    private static func handle(_ signal: CInt) {
        if let owner = pthread_getspecific(key) {
            tell("signalbox: it crashed ", owner)
        }
        if let before { sigaction(signal, &before[Int(signal)], nil) }
        raise(signal)
    }

    private static func tell(_ words: StaticString, _ owner: UnsafeMutableRawPointer) {
        let name = owner.assumingMemoryBound(to: CChar.self)
        write(words)
        // A file, since names of instances have no slash.
        let isFile = UInt8(bitPattern: name.pointee) == UInt8(ascii: "/")
        write(isFile ? "while it loaded the plugin " : "in a call of the plugin of the instance ")
        _ = Glibc.write(STDERR_FILENO, owner, strlen(name))
        write(". With `isolation: process` its process would end alone: docs/operations.md, ")
        write("\"A plugin ends the gateway\"\n")
    }

    private static func write(_ text: StaticString) {
        _ = Glibc.write(STDERR_FILENO, text.utf8Start, text.utf8CodeUnitCount)
    }
}
