internal import SignalboxCore

/// A stream with the data received so far; reused for later requests.
final class PushStream {
    var slot = 0
    var id: Int32 = 0
    /// The requests it belongs to; nil if the stream is free.
    var batch: PushBatch?
    var request = 0
    var bodySent = 0
    var status: UInt32 = 0
    var headers: [Attribute] = []
    var body: [UInt8] = []
    /// The final answer's fields have come: what follows are trailers.
    var hasHead = false
    var trailerCount = 0
    var isComplete = false
    /// The pool has given it up and does not wait for its end.
    var isAbandoned = false

    func begin(slot: Int, batch: PushBatch, request: Int) {
        self.slot = slot
        self.batch = batch
        self.request = request
        id = 0
        bodySent = 0
        status = 0
        hasHead = false
        trailerCount = 0
        isComplete = false
        isAbandoned = false
    }

    /// Frees it for the next request.
    func end() {
        batch = nil
        headers = []
        body = []
    }
}
