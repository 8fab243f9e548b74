/// Arguments of a statement in PostgreSQL's binary form, in their order.
struct Parameters: Sendable {
    /// Of the arrays that are sent, by the server's numbers of types.
    private enum Element: Int32 {
        case bytes = 17
        case int8 = 20
        case text = 25
    }

    private(set) var bytes: [UInt8] = []
    /// Where each begins and how long it is; -1 for NULL.
    private(set) var places: [(start: Int, count: Int)] = []

    mutating func add(_ number: Int64) { place { $0.put(number) } }

    mutating func add(_ number: UInt64) { add(Int64(clamping: number)) }

    mutating func add(_ number: Int64?) {
        guard let number else { return places.append((bytes.count, -1)) }
        add(number)
    }

    /// PostgreSQL's texts hold no zero byte, which is left out.
    mutating func add(_ text: String) { place { $0.put(text) } }

    mutating func add(_ text: String?) {
        guard let text else { return places.append((bytes.count, -1)) }
        add(text)
    }

    mutating func add(_ blob: [UInt8]) { place { $0.bytes += blob } }

    mutating func add(_ numbers: [Int64]) {
        array(.int8, numbers.count) { out in
            for number in numbers {
                out.put(Int32(8))
                out.put(number)
            }
        }
    }

    mutating func add(_ texts: [String]) {
        array(.text, texts.count) { out in
            for text in texts {
                let start = out.bytes.count
                out.put(Int32(0))
                out.put(text)
                let count = Int32(out.bytes.count - start - 4)
                withUnsafeBytes(of: count.bigEndian) {
                    out.bytes.replaceSubrange(start..<start + 4, with: $0)
                }
            }
        }
    }

    mutating func add(_ blobs: [[UInt8]]) {
        array(.bytes, blobs.count) { out in
            for blob in blobs {
                out.put(Int32(blob.count))
                out.bytes += blob
            }
        }
    }

    private mutating func place(_ write: (inout Self) -> Void) {
        let start = bytes.count
        write(&self)
        places.append((start, bytes.count - start))
    }

    /// One dimension that begins at 1.
    private mutating func array(_ kind: Element, _ count: Int, _ write: (inout Self) -> Void) {
        place { out in
            out.put(Int32(count == 0 ? 0 : 1))
            // Whether there may be NULLs: the server looks for itself.
            out.put(Int32(1))
            out.put(kind.rawValue)
            guard count > 0 else { return }
            out.put(Int32(count))
            out.put(Int32(1))
            write(&out)
        }
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
