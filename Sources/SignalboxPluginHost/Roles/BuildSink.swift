package import CSignalbox
package import SignalboxCore
internal import SignalboxJSON

/// The sink of one `build()` call; used by one thread.
package final class BuildSink: HostSink {
    private var result = BuildResult()
    private var isNamed: [Bool]
    private let structs: StructReader
    private var refusal = ""
    /// Why the last rejected call was rejected; nil if none was.
    var refusedWords: String? {
        refusal.isEmpty ? nil : "a call of its sink was refused: \(refusal)"
    }

    /// A sink for an event with `recipientCount` recipients.
    package init(recipientCount: Int, structs: StructReader) {
        isNamed = [Bool](repeating: false, count: recipientCount)
        self.structs = structs
    }

    /// The result; recipients that were not named are skipped.
    package func finished() -> BuildResult {
        for (index, named) in isNamed.enumerated() where !named {
            result.skips.append(FanOut.Skip(recipient: index, reason: "unnamed"))
        }
        return result
    }

    private func emit(
        _ given: UnsafePointer<sbx_notification>?, _ targets: UnsafePointer<sbx_target>?,
        _ count: Int, _ stride: Int
    ) -> sbx_status {
        let read = structs.reading("emit()") { () throws(StructFault) in
            try content(given, targets, count, stride)
        }
        guard let content = read ?? nil else {
            if refusal.isEmpty { refusal = "emit() got a malformed struct" }
            return SBX_E_INVALID
        }
        for target in content.targets { isNamed[target.recipient] = true }
        result.contents.append(content)
        return SBX_OK
    }

    /// A content with its targets; nil if it is malformed.
    private func content(
        _ given: UnsafePointer<sbx_notification>?, _ targets: UnsafePointer<sbx_target>?,
        _ count: Int, _ stride: Int
    ) throws(StructFault) -> BuiltContent? {
        guard let given, count == 0 || count > 0 && targets != nil else { return nil }
        let note = try structs.notification(given)
        let data = note.data.isEmpty ? nil : JSONKinds.object(note.data)
        guard note.data.isEmpty || data != nil else {
            refusal = "emit() got data that is no JSON object"
            return nil
        }
        guard note.overrides.allSatisfy({ JSONKinds.isObjectOrEmpty($0.json) }) else {
            refusal = "emit() got an override that is no JSON object"
            return nil
        }
        var taken: [BuiltContent.Target] = []
        taken.reserveCapacity(count)
        for index in 0..<count {
            guard let targets else { return nil }
            let target = try structs.read(targets, index, stride: stride)
            guard Int(target.recipient) < isNamed.count else {
                refusal = "emit() got recipient \(target.recipient) of \(isNamed.count)"
                return nil
            }
            let badge = target.flags & SBX_T_BADGE != 0 ? target.badge : nil
            taken.append(.init(recipient: Int(target.recipient), badge: badge))
        }
        return BuiltContent(notification: note, targets: taken, data: data)
    }

    private func skip(_ recipient: UInt32, _ reason: sbx_str) -> sbx_status {
        guard Int(recipient) < isNamed.count else {
            refusal = "skip() got recipient \(recipient) of \(isNamed.count)"
            return SBX_E_INVALID
        }
        isNamed[Int(recipient)] = true
        result.skips.append(FanOut.Skip(recipient: Int(recipient), reason: reason.text))
        return SBX_OK
    }

    package static let slots: SinkSlots<sbx_build_sink> = SinkSlots { functions }

    /// Lead to the sink.
    package static var functions: sbx_build_sink {
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
}
