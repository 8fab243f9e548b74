internal import SignalboxTables

/// Arguments of a statement in PostgreSQL's binary form, in their order.
struct Parameters: Sendable {
    /// The server's numbers of types.
    private enum ValueType: UInt32 {
        case bytes = 17
        case int8 = 20
        case text = 25
        case bytesArray = 1001
        case textArray = 1009
        case int8Array = 1016

        init(_ type: StoreTable.ValueType) {
            self =
                switch type {
                case .number: .int8
                case .text: .text
                case .bytes: .bytes
                }
        }

        var array: ValueType {
            switch self {
            case .bytes, .bytesArray: .bytesArray
            case .text, .textArray: .textArray
            case .int8, .int8Array: .int8Array
            }
        }
    }

    private(set) var bytes: [UInt8] = []
    /// Where each begins and how long it is; -1 for NULL.
    private(set) var places: [(start: Int, count: Int)] = []
    /// The type of each.
    private(set) var types: [UInt32] = []

    init(_ values: any ParameterValue...) { for value in values { value.add(to: &self) } }

    init(_ values: [TableValue]) {
        for value in values {
            switch value {
            case .number(let number): add(number)
            case .text(let text): add(text)
            case .bytes(let bytes?): add(bytes)
            case .bytes(nil): addNull(.bytes)
            }
        }
    }

    mutating func add(_ number: Int64) { place(.int8) { $0.put(number) } }

    mutating func add(_ number: UInt64) { add(Int64(clamping: number)) }

    mutating func add(_ number: Int64?) {
        guard let number else { return addNull(.int8) }
        add(number)
    }

    /// PostgreSQL's texts hold no zero byte, which is left out.
    mutating func add(_ text: String) { place(.text) { $0.put(text) } }

    mutating func add(_ text: String?) {
        guard let text else { return addNull(.text) }
        add(text)
    }

    mutating func add(_ blob: [UInt8]) { place(.bytes) { $0.bytes += blob } }

    mutating func add(_ numbers: [Int64]) {
        array(.int8, numbers) { out, number in
            out.put(Int32(8))
            out.put(number)
        }
    }

    mutating func add(_ texts: [String]) { array(.text, texts) { $0.putCounted($1) } }

    mutating func add(_ blobs: [[UInt8]]) { array(.bytes, blobs) { $0.putCounted($1) } }

    /// A column of rows, as an array.
    mutating func add(_ type: StoreTable.ValueType, _ column: [TableValue]) {
        array(ValueType(type), column) { out, value in
            switch value {
            case .number(let number?):
                out.put(Int32(8))
                out.put(number)
            case .text(let text?): out.putCounted(text)
            case .bytes(let bytes?): out.putCounted(bytes)
            case .number(nil), .text(nil), .bytes(nil): out.put(Int32(-1))
            }
        }
    }

    private mutating func addNull(_ type: ValueType) {
        places.append((bytes.count, -1))
        types.append(type.rawValue)
    }

    private mutating func place(_ type: ValueType, _ write: (inout Self) -> Void) {
        let start = bytes.count
        write(&self)
        places.append((start, bytes.count - start))
        types.append(type.rawValue)
    }

    /// One dimension that begins at 1.
    private mutating func array<Value>(
        _ type: ValueType, _ values: [Value], _ write: (inout Self, Value) -> Void
    ) {
        place(type.array) { out in
            out.put(Int32(values.isEmpty ? 0 : 1))
            // Whether there may be NULLs: the server looks for itself.
            out.put(Int32(1))
            out.put(type.rawValue)
            guard !values.isEmpty else { return }
            out.put(Int32(values.count))
            out.put(Int32(1))
            for value in values { write(&out, value) }
        }
    }

    private mutating func putCounted(_ blob: [UInt8]) {
        put(Int32(blob.count))
        bytes += blob
    }

    private mutating func putCounted(_ text: String) {
        let start = bytes.count
        put(Int32(0))
        put(text)
        let count = Int32(bytes.count - start - 4)
        withUnsafeBytes(of: count.bigEndian) { bytes.replaceSubrange(start..<start + 4, with: $0) }
    }

    private mutating func put(_ text: String) {
        let start = bytes.count
        bytes.append(contentsOf: text.utf8)
        guard bytes[start...].contains(0) else { return }
        bytes.removeSubrange(start...)
        bytes.append(contentsOf: text.utf8.lazy.filter { $0 != 0 })
    }

    private mutating func put(_ number: some FixedWidthInteger) {
        withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
    }
}

/// What an argument may be.
protocol ParameterValue {
    func add(to parameters: inout Parameters)
}

extension Int64: ParameterValue {
    func add(to parameters: inout Parameters) { parameters.add(self) }
}

extension UInt64: ParameterValue {
    func add(to parameters: inout Parameters) { parameters.add(self) }
}

extension String: ParameterValue {
    func add(to parameters: inout Parameters) { parameters.add(self) }
}

/// What an array in the place of an argument may hold; that of bytes is one value.
protocol ParameterElement {
    static func add(_ all: [Self], to parameters: inout Parameters)
}

extension Array: ParameterValue where Element: ParameterElement {
    func add(to parameters: inout Parameters) { Element.add(self, to: &parameters) }
}

extension UInt8: ParameterElement {
    static func add(_ all: [UInt8], to parameters: inout Parameters) { parameters.add(all) }
}

extension Int64: ParameterElement {
    static func add(_ all: [Int64], to parameters: inout Parameters) { parameters.add(all) }
}

extension String: ParameterElement {
    static func add(_ all: [String], to parameters: inout Parameters) { parameters.add(all) }
}

extension [UInt8]: ParameterElement {
    static func add(_ all: [[UInt8]], to parameters: inout Parameters) { parameters.add(all) }
}
