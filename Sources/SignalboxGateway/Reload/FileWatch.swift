internal import Logging
internal import Synchronization

/// Reloads when a file of the configuration changes, while `gateway.watch` is set.
///
/// It polls instead of using inotify, which watches folders rather than what a path resolves to through links, and does
/// not work on some file systems. A change is applied once two checks agree, so that an editor or a copy has finished.
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
                // A rejected file is tried again after its next change.
                await reload()
            }
        }
        task.withLock { $0 = watch }
    }

    func stop() { task.withLock { $0 }?.cancel() }
}
