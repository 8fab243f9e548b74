import ArgumentParser
import CAllocator
import Dispatch
import Glibc
import SignalboxConformance

/// The entry point.
@main
enum Program {
    static func main() {
        // Plugins are examined without the task pool: the plugin's threads are counted, and memory
        // checkers have trouble with the pool.
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
