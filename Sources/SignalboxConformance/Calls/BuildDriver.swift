internal import CSignalbox
internal import SignalboxCore
internal import SignalboxPluginHost

/// Calls the build role.
///
/// `@unchecked Sendable`: the table is only read.
struct BuildDriver: PureDriver, @unchecked Sendable {
    static let name = "build()"
    let subject: Subject
    let table: sbx_build
    /// The route's build.options.
    let options: String

    func run(
        _ event: Event, _ recipients: [Recipient], shape: Shape
    ) -> PureAnswer<BuildResult> {
        let sink = BuildSink(
            recipientCount: recipients.count, structs: subject.probe.bare.structs)
        _ = subject.probe.takeUsed()
        var probe: SinkProbe<sbx_build_sink>?
        let result = subject.call(.worker, Self.name) { arena, error in
            let input = arena.make(sbx_build_input.self)
            input.pointee.struct_size = UInt32(MemoryLayout<sbx_build_input>.size)
            input.pointee.event = arena.event(event)
            input.pointee.route = arena.text("check")
            input.pointee.instance = arena.text(event.source)
            input.pointee.options = arena.text(options)
            input.pointee.recipients = arena.recipients(recipients)
            input.pointee.recipient_count = recipients.count
            input.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
            let made = SinkProbe(sink.table(in: arena), place: Self.name)
            probe = made
            let shaper = Shaper(shape)
            let shaped = shaper.input(input)
            return withExtendedLifetime((shaper, sink)) {
                table.build(subject.raw, shaped, made.raw, error)
            }
        }
        probe?.close()
        let made = sink.finished()
        let contents = made.contents.map { content in
            let targets = content.targets.map { "\($0.recipient) \($0.badge ?? -1)" }
            return "\(content.notification) \(targets)"
        }
        let skips = made.skips.map { "\($0.recipient) \($0.reason)" }
        return PureAnswer(
            result: result, made: made, refusals: probe?.refusals ?? [],
            services: subject.probe.takeUsed(), words: "\(contents) \(skips)",
            reasons: made.skips.map(\.reason))
    }
}
