import Testing

@testable import SignalboxPluginHost

/// What the log says of the end of a plugin's process.
@Suite struct RunnerEndTests {
    @Test(arguments: [
        (Int32(11), 60_000, "was ended by SIGSEGV (Segmentation fault)"),
        (7 << 8, 60_000, "ended itself (exit 7)"),
        (
            31, 0,
            "was ended by SIGSYS (Bad system call): it made a call that isolation: sandbox forbids"
        ),
        (
            6, 1_900 << 10,
            "was ended by SIGABRT (Aborted); it held 1900 MiB of memory, and 2048 are the most"
        ),
        (
            9, 1 << 20,
            "was ended by SIGKILL (Killed); it held 1024 MiB of memory, and 2048 are the most"
        ),
        (9, (1 << 20) - 1, "was ended by SIGKILL (Killed)"),
    ])
    func `it names the signal, and the memory if that may be why`(
        status: Int32, heldKiB: Int, words: String
    ) { #expect(RunnerProcess.words(status: status, heldKiB: heldKiB) == words) }
}
