import Testing

@testable import SignalboxCLI

@Suite struct StartPagesTests {
    @Test func `pages of the start are given back and come again when they are needed`() {
        let first = StartPages.giveBack()
        // This runs on, so what it needs came back; and it is less than all that the start took.
        let second = StartPages.giveBack()
        #expect(first > 0 && second < first)
    }
}
