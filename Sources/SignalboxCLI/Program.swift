import ArgumentParser
import CAllocator
import Dispatch
import Glibc
import Signalbox
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
        // Before any other thread: a plugin will run here.
        if PluginsCommand.confined.contains(Array(CommandLine.arguments.dropFirst().prefix(2))) {
            PluginTool.confine()
        } else {
            // Of a plugin that runs in this process, whatever the command is.
            Gateway.reportCrashes()
        }
        Task.detached {
            await SignalboxCommand.main()
            exit(0)
        }
        dispatchMain()
    }
}
