import SignalboxPluginKit

/// A homeserver cannot be called: the answer to its next request reports dead pushkeys.
extension Matrix: RegisterPlugin {
    static var maxChanges: Int { 100 }
    static var changeKinds: Set<ChangeKind> { [.invalid] }

    /// Never connected to: reports are kept, not sent.
    func registerEndpoint(app: String) throws(PluginError) -> Endpoint {
        Endpoint(origin: "https://localhost")
    }

    func prepare(_ changes: borrowing ChangeBatch, _ sink: borrowing RequestSink)
        throws(PluginError)
    {
        for index in 0..<changes.count {
            let change = changes[index]
            let isReport = change.kind == .invalid && !change.sourceToken.isEmpty
            if isReport { deadKeys.add(change.sourceToken, unixMs: change.timeUnixMs) }
            try sink.settle([change.id], Outcome(.delivered, isReport ? "remembered" : "ignored"))
        }
    }

    func classifyChanges(
        _ batch: borrowing ResponseBatch, _ sink: borrowing RequestSink
    ) throws(PluginError) {
        for index in 0..<batch.count {
            try sink.settle(batch[index].items, Outcome(.delivered, "ignored"))
        }
    }
}
