internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// Calls the build role.
///
/// `@unchecked Sendable`: the table is only read.
struct BuildDriver: @unchecked Sendable {
    /// What the build of one event produced.
    struct Built: Sendable {
        var result: CallResult
        var made: BuildResult
        var refusals: [String]
        /// The services that were called.
        var services: Set<String>

        /// Equal fingerprints mean equal outputs.
        var fingerprint: String {
            let contents = made.contents.map { content in
                let targets = content.targets.map { "\($0.recipient) \($0.badge ?? -1)" }
                return "\(content.notification) \(targets)"
            }
            let skips = made.skips.map { "\($0.recipient) \($0.reason)" }
            return "\(result.status) \(result.words) \(contents) \(skips)"
        }
    }

    let subject: Subject
    let table: sbx_build
    /// The route's build.options.
    let options: String

    func build(_ event: Event, _ recipients: [Recipient], shape: Shape = .plain) -> Built {
        let sink = BuildSink(
            recipientCount: recipients.count, structs: subject.probe.bare.structs)
        _ = subject.probe.takeUsed()
        var probe: SinkProbe<sbx_build_sink>?
        let result = subject.call(.worker, "build()") { arena, error in
            let input = arena.make(sbx_build_input.self)
            input.pointee.struct_size = UInt32(MemoryLayout<sbx_build_input>.size)
            input.pointee.event = arena.event(event)
            input.pointee.route = arena.text("check")
            input.pointee.instance = arena.text(event.source)
            input.pointee.options = arena.text(options)
            input.pointee.recipients = arena.recipients(recipients)
            input.pointee.recipient_count = recipients.count
            input.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
            let made = SinkProbe(sink.table(in: arena), place: "build()")
            probe = made
            let shaper = Shaper(shape)
            let shaped = shaper.input(input)
            return withExtendedLifetime((shaper, sink)) {
                table.build(subject.raw, shaped, made.raw, error)
            }
        }
        probe?.close()
        return Built(
            result: result, made: sink.finished(), refusals: probe?.refusals ?? [],
            services: subject.probe.takeUsed())
    }
}
