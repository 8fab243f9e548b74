import CNghttp2
import Testing

@testable import SignalboxHTTP

/// nghttp2 reads the blocks that are written here.
@Suite struct HeaderEncoderTests {
    private typealias Field = HeaderReader.Field

    private func write(_ fields: [Field], to encoder: inout HeaderEncoder) {
        for field in fields {
            Array(field.name.utf8).withUnsafeBufferPointer { name in
                Array(field.value.utf8).withUnsafeBufferPointer { value in
                    if field.isNeverKept {
                        encoder.varying(name, value)
                    } else {
                        encoder.common(.none, name, value)
                    }
                }
            }
        }
    }

    @Test func `any fields are read as they were written, whatever the table's size`() throws {
        var random = SystemRandomNumberGenerator()
        let reader = try #require(HeaderReader())
        var encoder = HeaderEncoder()
        for _ in 0..<2_000 {
            // One of several sizes between two blocks may be less than both.
            for _ in 0..<max(0, Int.random(in: -20...3, using: &random)) {
                let size = [0, 31, 60, 500, 4_096, 100_000].randomElement(using: &random) ?? 0
                reader.limitTable(to: size)
                encoder.setTable(sizeMax: size)
            }
            let fields = (0..<Int.random(in: 1...8)).map { _ in
                let length = Int.random(in: 0..<20) == 0 ? 5_000 : Int.random(in: 0...40)
                return Field(
                    name: "n\(Int.random(in: 0..<9))",
                    value: String(repeating: "ab", count: length) + "\(Int.random(in: 0..<9))",
                    isNeverKept: Bool.random())
            }
            encoder.begin()
            write(fields, to: &encoder)
            #expect(reader.read(encoder.block) == fields)
        }
    }

    @Test func `a field that the peer keeps takes a byte`() throws {
        var encoder = HeaderEncoder()
        let fields = [
            Field(name: "topic", value: "com.example"), Field(name: "kind", value: "alert"),
        ]
        var counts: [Int] = []
        for _ in 0..<3 {
            encoder.begin()
            write(fields, to: &encoder)
            counts.append(encoder.block.count)
        }
        #expect(counts == [31, 2, 2])
    }

    @Test func `a full table is emptied, and the fields that are used enter it again`() throws {
        let reader = try #require(HeaderReader())
        var encoder = HeaderEncoder()
        let used = Field(name: "topic", value: "com.example")
        var sizes: [Int] = []
        for number in 0..<100 {
            let rare = Field(
                name: "rare", value: String(repeating: "\(number % 10)", count: 60 + number))
            encoder.begin()
            write([used, rare], to: &encoder)
            #expect(reader.read(encoder.block) == [used, rare])
            encoder.begin()
            write([used], to: &encoder)
            #expect(reader.read(encoder.block) == [used])
            sizes.append(encoder.block.count)
        }
        #expect(sizes.filter { $0 == 1 }.count > 80)
    }

    @Test func `methods and lengths are read as they were written`() throws {
        let reader = try #require(HeaderReader())
        var encoder = HeaderEncoder()
        for (method, length) in [
            ("POST", 0), ("GET", 9), ("DELETE", 10), ("POST", 4_096), ("PUT", 1_048_576),
        ] {
            encoder.begin()
            Array(method.utf8).withUnsafeBufferPointer { encoder.method($0) }
            encoder.https()
            encoder.contentLength(length)
            #expect(
                reader.read(encoder.block) == [
                    Field(name: ":method", value: method), Field(name: ":scheme", value: "https"),
                    Field(name: "content-length", value: "\(length)", isNeverKept: true),
                ])
        }
    }
}
