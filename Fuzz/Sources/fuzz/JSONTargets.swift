import SignalboxCore
import SignalboxJSON

extension FuzzTarget {
    /// Text that parses is written and parsed to the same value, and so is mended text.
    static let json = FuzzTarget(name: "json") { input in
        guard let parser = JSONParser(),
            let document = try? JSONDocument(input.bindMemory(to: UInt8.self), with: parser)
        else { return }
        let value = JSONValue(document.root)
        let text = value.text
        guard let again = try? JSONValue.parse(text) else {
            fatalError("broken property: its own text does not parse: \(text)")
        }
        require(again == value, "another value: \(text)")
        require(again.text == text, "another text: \(text)")
        guard let kept = JSONParser.text(of: document.root) else {
            fatalError("broken property: no text")
        }
        require((try? JSONValue.parse(Array(kept))) == value, "the minified text has another value")
        if let mended = document.mended {
            guard let other = try? JSONDocument.parse(mended) else {
                fatalError("broken property: mended text does not parse: \(mended)")
            }
            require(other.mended == nil, "mended text is mended again")
            require(JSONValue(other.root) == value, "mended text has another value")
        }
    }
}
