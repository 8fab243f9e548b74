extension Host {
    /// The object that a member holds as an object, as JSON text, or as base64 of JSON text; nil if it is
    /// none of these.
    ///
    /// Sources send the same field in all three forms.
    public func object(in value: JSON?) -> JSON? {
        guard let value else { return nil }
        if value.kind == .object { return value }
        guard let text = value.string, !text.isEmpty else { return nil }
        if let json = try? parse(text.utf8.span), json.kind == .object { return json }
        guard let bytes = Base64URL.decode(text), let json = try? parse(bytes.span),
            json.kind == .object
        else { return nil }
        return json
    }
}
