import PluginRig
import SignalboxCore
import SignalboxJSON
import SignalboxPluginHost

/// The steps that build notifications.
extension GoldenRun {
    mutating func build(
        _ question: JSONValue, _ step: inout GoldenFields, _ at: String
    ) throws {
        let merged = (defaults["build"] ?? .object([])).merging(question)
        var fields = try GoldenFields(merged, "\(step.place)build")
        var event = self.event
        if let type = try fields.text("type") { event.type = type }
        var data = fields.take("data")
        if let change = question["change"] {
            _ = fields.take("change")
            data = try Self.changed(data, by: change, fields.place)
        }
        if let data { event.data = data.string ?? data.text }
        let people = try fields.list("to")?.map { try GoldenValues.recipient($0, fields.place) }
        let options = fields.take("options")?.text ?? "{}"
        try fields.end()
        let result = try rig.build(event, people ?? event.recipients, options: options)
        let before = step.left.count
        if let built = try step.list("built") { try compare(result.contents, built, at) }
        if let skips = try step.list("skips") {
            let made = result.skips.map { JSONValue.string($0.reason) }
            compare(.array(made), .array(skips), "\(at)skips")
        }
        if step.left.count == before { throw GoldenFault("\(step.place)build expects nothing") }
    }

    /// Each is the whole notification, or `has` and `lacks` by JSON pointer, `to` and `badges`.
    mutating func compare(
        _ contents: [BuiltContent], _ expected: [JSONValue], _ at: String
    ) throws {
        guard contents.count == expected.count else {
            return faults.append("\(at)built: \(contents.count) contents, not \(expected.count)")
        }
        let keys = ["has", "lacks", "to", "badges"]
        for (index, (content, wanted)) in zip(contents, expected).enumerated() {
            let place = "\(at)built/\(index)"
            let note = GoldenValues.json(content.notification)
            guard keys.contains(where: { wanted[$0] != nil }) else {
                compare(note, wanted, place)
                continue
            }
            var fields = try GoldenFields(wanted, place)
            if let to = fields.take("to") {
                let made = content.targets.map { JSONValue.integer(Int64($0.recipient)) }
                compare(.array(made), to, "\(place)/to")
            }
            if let badges = fields.take("badges") {
                let made = content.targets.map { target in
                    target.badge.map { JSONValue.integer(Int64($0)) } ?? .null
                }
                compare(.array(made), badges, "\(place)/badges")
            }
            for member in try fields.map("has")?.left ?? [] {
                let value = GoldenValues.value(note, at: member.key)
                compare(value, member.value, "\(place)\(member.key)")
            }
            for pointer in try fields.list("lacks") ?? [] {
                lack(note, pointer.string ?? "", place)
            }
            try fields.end()
        }
    }

    /// A JSON pointer whose value is missing, or words that stand nowhere.
    private mutating func lack(_ note: JSONValue, _ words: String, _ place: String) {
        if !words.hasPrefix("/") {
            if note.text.contains(words) { faults.append("\(place): has \(words)") }
        } else if let value = GoldenValues.value(note, at: words) {
            faults.append("\(place)\(words): is \(value.text)")
        }
    }
}
