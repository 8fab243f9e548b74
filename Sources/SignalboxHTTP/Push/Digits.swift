/// Reads and writes decimal numbers of header fields without allocating strings.
final class Digits {
    private static let room = 20
    private let start = UnsafeMutablePointer<UInt8>.allocate(capacity: Digits.room)

    deinit { start.deallocate() }

    /// The digits of a number; valid until the next call.
    func write(_ number: UInt) -> UnsafeBufferPointer<UInt8> {
        var rest = number
        var place = Self.room
        repeat {
            place -= 1
            start[place] = UInt8(ascii: "0") + UInt8(rest % 10)
            rest /= 10
        } while rest > 0
        return UnsafeBufferPointer(start: start + place, count: Self.room - place)
    }

    /// The value of a three-digit number; 0 for anything else.
    static func read(_ text: UnsafeBufferPointer<UInt8>) -> UInt32 {
        guard text.count == 3 else { return 0 }
        var number: UInt32 = 0
        for byte in text {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return 0 }
            number = number * 10 + UInt32(byte - UInt8(ascii: "0"))
        }
        return number
    }
}
