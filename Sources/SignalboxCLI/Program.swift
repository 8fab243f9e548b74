import ArgumentParser
import CAllocator
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
        Task.detached {
            await SignalboxCommand.main()
            exit(0)
        }
        // Tools that count instructions stumble over a main thread that gives itself up.
        if CommandLine.arguments.dropFirst().first == "bench" { while true { pause() } }
        dispatchMain()
    }
}
