import ArgumentParser
import CAllocator
import Glibc

/// Where the process begins.
@main
enum Program {
    static func main() {
        Task.detached {
            await BenchCommand.main()
            exit(0)
        }
        // Not dispatchMain: tools that count instructions need a main thread that stays.
        while true { pause() }
    }
}
