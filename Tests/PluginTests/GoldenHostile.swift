import PluginRig
import SignalboxConformance
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost

/// Bodies from attackers.
extension GoldenRun {
    /// Every hostile body is refused as invalid. The bodies of the list, with each part of them
    /// replaced by each hostile value, are refused as invalid or taken; what is taken can be built.
    mutating func hostile(
        _ bodies: [JSONValue], _ step: inout GoldenFields, _ at: String
    ) async throws {
        let own = step.take("receive") ?? .object([])
        let merged = (defaults["receive"] ?? .object([])).merging(own)
        var fields = try GoldenFields(merged, "\(step.place)receive")
        _ = fields.take("body")
        let status = try step.map("reply").flatMap {
            var reply = $0
            return try reply.integer("status")
        }
        for (name, bytes) in HostileBodies.all {
            let result = try await handle(bytes, fields)
            if result.fault?.kind != .invalid || !result.events.isEmpty || !result.changes.isEmpty
                || status != nil && status != result.answer.map({ Int64($0.status) })
            {
                faults.append("\(at)\(name): is not refused as invalid")
            }
        }
        for hole in bodies.flatMap({ GoldenValues.holes($0) }) {
            for value in HostileBodies.values {
                let text = hole.before + value + hole.after
                let result = try await handle(Array(text.utf8), fields)
                if let fault = result.fault,
                    fault.kind != .invalid || fault.message.utf8.count >= 250
                {
                    faults.append("\(at)\(fault): \(text.prefix(2_000))")
                }
                if try rig.builder == nil { continue }
                for event in result.events { _ = try rig.build(event, event.recipients) }
            }
        }
    }
}
