import SignalboxConfig
import SignalboxCore
import SignalboxJSON

extension FuzzTarget {
    /// The text of gateway.yaml. No file but itself can be read; each diagnostic names a place in the text.
    static let config = FuzzTarget(name: "config") { input in
        let text = [UInt8](input)
        let environment = ConfigEnvironment(
            variables: ["TOKEN": "0123456789abcdef", "EMPTY": ""],
            readFile: { $0 == "/f/gateway.yaml" ? .success(text) : .failure(.missing) })
        let (config, diagnostics) = GatewayConfig.load(
            "/f/gateway.yaml", environment: environment)
        // libyaml also breaks lines at CR, NEL, LS and PS.
        let breaks = text.count {
            $0 == 10 || $0 == 13 || $0 == 0x85 || $0 == 0xA8 || $0 == 0xA9 || $0 == 0
        }
        for diagnostic in diagnostics {
            let place = diagnostic.position
            require(!diagnostic.message.isEmpty && !diagnostic.code.isEmpty, "no words")
            require(
                place.line >= 1 && place.column >= 1 && place.line <= breaks + 2
                    && place.column <= text.count + 2, "\(diagnostic) is outside of the text")
        }
        _ = config.given?.json.text
    }

    /// The text of a template; what parses is rendered, and stays within its bound.
    static let template = FuzzTarget(name: "template") { input in
        let text = String(decoding: input, as: UTF8.self)
        do throws(TemplateFault) {
            let template = try Template.parse(text, texts: Sample.texts)
            let out = template.render(Sample.fields, recipient: Sample.recipient)
            require(out.utf8.count <= 16 * 1024, "\(out.utf8.count) bytes")
            if let constant = template.constant, constant.utf8.count <= 16 * 1024 {
                require(constant == out, "the constant \(constant) is rendered as \(out)")
            }
        } catch {
            require(
                (0...text.utf8.count).contains(error.offset), "\(error) is at \(error.offset)")
        }
    }

    /// The JSON of a `when:`; what parses is decided for an event.
    static let condition = FuzzTarget(name: "condition") { input in
        guard let json = try? JSONValue.parse([UInt8](input)) else { return }
        var diagnostics: [Diagnostic] = []
        let value = ConfigValue(json, at: SourcePosition(file: "f", line: 1, column: 1))
        guard let condition = Condition.parse(value, diagnostics: &diagnostics) else {
            require(!diagnostics.isEmpty, "it is refused without words")
            return
        }
        require(diagnostics.isEmpty, "it is taken with complaints")
        let holds = condition.holds(for: Sample.fields)
        require(
            Condition.not(condition).holds(for: Sample.fields) != holds, "not changes nothing")
    }
}

/// An event for templates and conditions.
private enum Sample {
    static let fields: EventFields = {
        let text =
            #"{"ticket_id":42,"name":"Ada \ud83d\ude00","list":[1,{"a":null}],"o":{"p":true}}"#
        guard let data = try? JSONDocument.parse(text) else { fatalError("the sample is not JSON") }
        let event = Event(
            source: "desk", type: "ticket.replied", subject: "42", data: text,
            timeUnixMs: 1_700_000_000_000)
        return EventFields(event: event, data: data)
    }()

    static let recipient: Recipient = {
        var recipient = Recipient(device: Device(user: "u-1", locale: "de_CH"))
        recipient.attributes = [Attribute("first_name", "Ada")]
        return recipient
    }()

    static let texts: [String: TextByLocale] = {
        guard let text = try? Template.parse("Hallo {{ recipient.first_name }}") else { return [:] }
        return ["greeting": TextByLocale(["de": text], default: text)]
    }()
}
