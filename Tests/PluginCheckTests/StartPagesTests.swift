import Testing

@testable import SignalboxCLI

@Suite struct StartPagesTests {
    @Test func `pages of the start are given back and come again when they are needed`() {
        let first = StartPages.giveBack()
        // The running process mapped again what it needs, which is less than
        // everything the start used.
        let second = StartPages.giveBack()
        #expect(first > 0 && second < first)
    }
}
