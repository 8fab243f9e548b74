internal import CSignalbox
internal import SignalboxPluginHost

/// A host service that watches its callers: each function notes the call and passes it on.
struct ProbedService<Table: BitwiseCopyable & Sendable>: Sendable {
    private let id: String
    /// The host's own table.
    private let real: Table

    init(_ id: String, _ type: Table.Type) {
        guard let raw = BareHost.service(id) else {
            preconditionFailure("the host offers every service of the contract")
        }
        self.id = id
        real = raw.assumingMemoryBound(to: Table.self).pointee
    }

    /// The table with other functions.
    func table(_ replace: (inout Table) -> Void) -> Table {
        var table = real
        replace(&table)
        return table
    }

    /// Passes a call on; `refused` is the answer if the host was never given out.
    func pass<Answer>(
        _ host: UnsafePointer<sbx_host>?, _ function: String,
        _ allowed: HostProbe.Allowed = .any, else refused: Answer, _ call: (Table) -> Answer
    ) -> Answer {
        guard HostProbe.note(host, id, function, allowed) != nil else { return refused }
        return call(real)
    }

    /// The same for a function that returns a status.
    func pass(
        _ host: UnsafePointer<sbx_host>?, _ function: String,
        _ allowed: HostProbe.Allowed = .any, _ call: (Table) -> sbx_status
    ) -> sbx_status {
        guard HostProbe.note(host, id, function, allowed) != nil else { return SBX_E_INVALID }
        let status = call(real)
        if id == SBX_SVC_FIT, status == SBX_E_INVALID { noteUnfit(function) }
        return status
    }

    /// A sender settles a delivery that was not made to fit, so nothing else reveals the fault.
    private func noteUnfit(_ function: String) {
        guard CallScope.current != nil, let note = ThreadNote.current else { return }
        Findings.shared.fail(
            .payloadsFit,
            "\(id) \(function)() answered INVALID in \(note.name): the payload must be "
                + "a JSON object, and `shorten` JSON")
    }

    /// The same for a function without a host parameter: only the thread is checked.
    func pass<Answer>(inCall function: String, _ call: (Table) -> Answer) -> Answer {
        HostProbe.check("\(id) \(function)()", .call)
        return call(real)
    }
}
