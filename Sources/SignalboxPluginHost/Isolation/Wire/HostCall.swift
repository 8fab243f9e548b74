/// Who asks for a service.
struct HostCaller: Sendable {
    let name: String
    let services: any HostServices
    let secrets: SecretBox
}

/// A call of a plugin's process that the gateway answers at once: its request and its answer.
///
/// Both processes read it in `HostCalls`, so it is written once.
struct HostCall<Answer: WireValue, each Sent: WireValue>: Sendable {
    let method: WireMethod
    /// Reads what was sent and answers it.
    let serve:
        @Sendable (HostCaller, inout WireReader) throws(WireFault) -> Result<Answer, PluginFault>

    init(
        _ method: WireMethod,
        _ run: @escaping @Sendable (HostCaller, repeat each Sent) throws(PluginFault) -> Answer
    ) {
        self.method = method
        serve = { caller, reader throws(WireFault) in
            let sent = (repeat try (each Sent)(from: &reader))
            return WireResult { () throws(PluginFault) in try run(caller, repeat each sent) }.result
        }
    }
}

/// The same for a call whose answer comes later.
struct LaterHostCall<Answer: WireValue, each Sent: WireValue>: Sendable {
    let method: WireMethod
    /// Reads what was sent; the call begins when the result is called.
    let read:
        @Sendable (HostCaller, inout WireReader) throws(WireFault) -> (
            @escaping HostAnswer<Answer>
        ) throws(PluginFault) -> Void

    /// A call that is not sound ends the connection: our own program never sends one.
    init(
        _ method: WireMethod,
        isSound: @escaping @Sendable (repeat each Sent) -> Bool = { (_: repeat each Sent) in
            true
        },
        _ begin:
            @escaping @Sendable (HostCaller, @escaping HostAnswer<Answer>, repeat each Sent)
            throws(PluginFault) -> Void
    ) {
        self.method = method
        read = { caller, reader throws(WireFault) in
            let sent = (repeat try (each Sent)(from: &reader))
            guard isSound(repeat each sent) else { throw WireFault("a call is out of bounds") }
            return { done throws(PluginFault) in try begin(caller, done, repeat each sent) }
        }
    }
}
