import ArgumentParser
import CLinux
import Dispatch
import Glibc
import SignalboxTestKit

/// Where the process begins.
@main
enum Program {
    static func main() {
        // A plugin is examined without the task pool: the plugin's threads are counted, and tools that
        // watch memory stumble over the pool.
        if CommandLine.arguments.dropFirst().elementsEqual(PluginsCheckCommand.examination[1...]) {
            PluginCheck.examine()
            return
        }
        keepMemory()
        Task.detached {
            await SignalboxCommand.main()
            exit(0)
        }
        // Tools that count instructions stumble over a main thread that gives itself up.
        if CommandLine.arguments.dropFirst().first == "bench" { while true { pause() } }
        dispatchMain()
    }

    /// Batches come one after the other: memory that one gives back is the next one's, and the kernel need not
    /// clear its pages anew each time.
    private static func keepMemory() {
        mallopt(M_TRIM_THRESHOLD, 16 << 20)
        mallopt(M_TOP_PAD, 1 << 20)
        mallopt(M_MMAP_THRESHOLD, 8 << 20)
    }
}
