import Testing

@testable import SignalboxDispatch

/// Reports move from the outbox to the queue, one step at a time, and none is stranded.
@Suite struct OutboxTransferTests {
    @Test func `what is read is appended, then removed, until nothing is left`() {
        var transfer = OutboxTransfer()
        expect(transfer.written(), .read)
        expect(transfer.found(last: 7), .append)
        expect(transfer.appended(), .remove(through: 7))
        expect(transfer.removed(), .read)
        expect(transfer.found(last: nil), .rest)
        // At rest, the next report starts a new round.
        expect(transfer.written(), .read)
    }

    @Test func `one step is under way at a time`() {
        var transfer = OutboxTransfer()
        expect(transfer.written(), .read)
        expect(transfer.written(), .rest)
        expect(transfer.found(last: 1), .append)
        expect(transfer.written(), .rest)
        expect(transfer.appended(), .remove(through: 1))
        expect(transfer.written(), .rest)
    }

    @Test func `what is written while the outbox is read is read as well`() {
        var transfer = OutboxTransfer()
        _ = transfer.written()
        _ = transfer.written()
        expect(transfer.found(last: nil), .read)
        expect(transfer.found(last: nil), .rest)
    }

    @Test func `a failure at any step is followed by a pause and a new reading`() {
        let ways: [(inout OutboxTransfer) -> Void] = [
            { _ in }, { _ = $0.found(last: 1) },
            {
                _ = $0.found(last: 1)
                _ = $0.appended()
            },
        ]
        for way in ways {
            var transfer = OutboxTransfer()
            _ = transfer.written()
            way(&transfer)
            expect(transfer.failed(), .pause)
            // The pause is a step as well.
            expect(transfer.written(), .rest)
            expect(transfer.waited(), .read)
            expect(transfer.found(last: nil), .rest)
        }
    }

    private func expect(
        _ step: OutboxTransfer.Step, _ wanted: OutboxTransfer.Step,
        _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(step == wanted, sourceLocation: location)
    }
}
