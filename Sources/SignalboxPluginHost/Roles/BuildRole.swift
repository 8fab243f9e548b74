internal import CSignalbox
public import SignalboxCore
internal import SignalboxJSON

/// What a builder made of an event.
public struct BuildResult: Sendable {
    /// Contents with their targets.
    public var contents: [BuiltContent] = []
    /// Recipients left out on purpose, or named nowhere.
    public var skips: [FanOut.Skip] = []
}

/// The build role of an instance.
///
/// `@unchecked Sendable`: the table is only read.
public final class BuildRole: @unchecked Sendable {
    /// The schema of a route's `build.options`; nil: takes none.
    public let optionsSchema: String?
    private let instance: PluginInstance
    private let table: sbx_build

    /// The role, or nil: the plugin does not have it.
    public init?(_ instance: PluginInstance) {
        guard let given = instance.role(SBX_ROLE_BUILD) else { return nil }
        self.instance = instance
        table = Tables.build(given.assumingMemoryBound(to: sbx_build.self))
        optionsSchema = String(plugin: table.options_schema)
    }

    /// Builds notifications.
    ///
    /// Thread: worker.
    public func build(
        _ event: Event, recipients: [Recipient], route: String, options: String
    ) -> Result<BuildResult, PluginFault> {
        let sink = BuildSink(recipientCount: recipients.count)
        let fault = instance.work { raw, arena -> PluginFault? in
            let input = arena.make(sbx_build_input.self)
            input.pointee.struct_size = UInt32(MemoryLayout<sbx_build_input>.size)
            input.pointee.event = arena.event(event)
            input.pointee.route = arena.text(route)
            input.pointee.instance = arena.text(event.source)
            input.pointee.options = arena.text(options)
            input.pointee.recipients = arena.recipients(recipients)
            input.pointee.recipient_count = recipients.count
            input.pointee.recipient_stride = MemoryLayout<sbx_recipient>.stride
            var error = sbx_error.fresh
            let status = sink.lent(to: instance.context) { table.build(raw, input, $0, &error) }
            return status == SBX_OK ? nil : PluginFault(status: status, error: error)
        }
        switch fault {
        case .none: return .failure(PluginFault(.stopping, "the gateway is stopping"))
        case .some(.some(let fault)): return .failure(fault)
        case .some(.none): return .success(sink.finished())
        }
    }
}

/// Where one `build()` writes; used by one thread, for one call.
private final class BuildSink {
    private var result = BuildResult()
    private var isNamed: [Bool]

    init(recipientCount: Int) { isNamed = [Bool](repeating: false, count: recipientCount) }

    func finished() -> BuildResult {
        for (index, named) in isNamed.enumerated() where !named {
            result.skips.append(FanOut.Skip(recipient: index, reason: "unnamed"))
        }
        return result
    }

    private func emit(
        _ given: UnsafePointer<sbx_notification>?, _ targets: UnsafePointer<sbx_target>?,
        _ count: Int, _ stride: Int
    ) -> sbx_status {
        guard let given, count == 0 || targets != nil else { return SBX_E_INVALID }
        let note = CRead.notification(given)
        guard note.overrides.allSatisfy({ JSONKinds.isObjectOrEmpty($0.json) }) else {
            return SBX_E_INVALID
        }
        var data = JSONValue.null
        if !note.data.isEmpty {
            guard let parsed = try? JSONValue.parse(note.data), case .object = parsed else {
                return SBX_E_INVALID
            }
            data = parsed
        }
        var taken: [BuiltContent.Target] = []
        taken.reserveCapacity(count)
        for index in 0..<count {
            guard let given = targets?.element(index, stride: stride) else { return SBX_E_INVALID }
            var target = sbx_target()
            Tables.copy(given, size: given.pointee.struct_size, to: &target)
            guard Int(target.recipient) < isNamed.count else { return SBX_E_INVALID }
            let badge = target.flags & SBX_T_BADGE != 0 ? target.badge : nil
            taken.append(.init(recipient: Int(target.recipient), badge: badge))
        }
        for target in taken { isNamed[target.recipient] = true }
        result.contents.append(
            BuiltContent(notification: note, dataObject: data, targets: taken))
        return SBX_OK
    }

    private func skip(_ recipient: UInt32, _ reason: sbx_str) -> sbx_status {
        guard Int(recipient) < isNamed.count else { return SBX_E_INVALID }
        isNamed[Int(recipient)] = true
        result.skips.append(FanOut.Skip(recipient: Int(recipient), reason: reason.text))
        return SBX_OK
    }

    private static func from(_ sink: UnsafeMutablePointer<sbx_build_sink>?) -> BuildSink? {
        guard let state = sink?.pointee.state else { return nil }
        return Unmanaged<BuildSink>.fromOpaque(state).takeUnretainedValue()
    }

    private static let slots: SinkSlots<sbx_build_sink> = SinkSlots {
        var table = sbx_build_sink()
        table.struct_size = UInt32(MemoryLayout<sbx_build_sink>.size)
        table.emit = { sink, notification, targets, count, stride in
            BuildSink.from(sink)?.emit(notification, targets, count, stride)
                ?? BuildSink.slots.late(sink)
        }
        table.skip = { sink, recipient, reason in
            BuildSink.from(sink)?.skip(recipient, reason) ?? BuildSink.slots.late(sink)
        }
        return table
    }

    /// Lends the struct to the plugin for one call.
    func lent<Result>(
        to context: InstanceContext, _ call: (UnsafeMutablePointer<sbx_build_sink>) -> Result
    ) -> Result {
        let table = Self.slots.take(for: context) {
            $0.state = Unmanaged.passUnretained(self).toOpaque()
        }
        defer { Self.slots.giveBack(table) }
        return call(table)
    }
}
