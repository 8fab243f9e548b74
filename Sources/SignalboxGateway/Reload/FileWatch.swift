internal import Logging
internal import Synchronization

/// Reloads when a file of the configuration has changed, while `gateway.watch` says so.
///
/// It looks at the files now and then instead of asking the system for notices: these tell of folders and not of
/// what a path leads to through links, and of nothing on some file systems. A change is applied when two looks have
/// found the same, so that an editor or a copy has finished.
final class FileWatch: Sendable {
    private let task = Mutex<Task<Void, Never>?>(nil)

    func start(
        _ files: ReadFiles, intervalMs: UInt64, isOn: @escaping @Sendable () -> Bool,
        reload: @escaping @Sendable () async -> Void
    ) {
        let watch = Task {
            var last = files.then
            while (try? await Task.sleep(for: .milliseconds(intervalMs))) != nil {
                guard isOn() else { continue }
                let now = files.now
                defer { last = now }
                guard now == last, now != files.then else { continue }
                // A file that is rejected is tried again when it has changed again.
                await reload()
            }
        }
        task.withLock { $0 = watch }
    }

    func stop() { task.withLock { $0 }?.cancel() }
}
