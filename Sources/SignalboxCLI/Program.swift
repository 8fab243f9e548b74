import ArgumentParser
import CAllocator
import Dispatch
import Glibc
import SignalboxConformance

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
        dispatchMain()
    }
}
