extension Attribute: RecordValue {
    /// Writes the name and the value.
    public func write(to out: inout RecordWriter) {
        out.put(0, key)
        out.put(1, value)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        self.init(try record.text(0), try record.text(1))
    }
}

extension PayloadOverride: RecordValue {
    /// Writes the family and the object.
    public func write(to out: inout RecordWriter) {
        out.put(0, family)
        out.put(1, json)
    }

    /// Reads the fields.
    public init(from record: inout RecordReader) throws(RecordFault) {
        self.init(family: try record.text(0), json: try record.text(1))
    }
}
