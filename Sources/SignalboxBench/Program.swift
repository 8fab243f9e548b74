import ArgumentParser
import CAllocator
import Glibc

/// The entry point.
@main
enum Program {
    static func main() {
        Task.detached {
            await BenchCommand.main()
            exit(0)
        }
        // Not dispatchMain: tools that count instructions need a main thread that stays alive.
        while true { pause() }
    }
}
