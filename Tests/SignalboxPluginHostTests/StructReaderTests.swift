import SignalboxPluginHost
import Testing

/// Sizes of structs across minors, with this host as a host of contract 1.1.
@Suite struct StructReaderTests {
    /// A struct that gained a field in 1.1.
    struct Grown: PluginStruct, Equatable {
        static var name: String { "sbx_grown" }
        static func size(minor: UInt32) -> Int { minor < 1 ? 8 : 16 }
        var struct_size: UInt32
        var old: UInt32 = 7
        var new: UInt64 = 9
    }

    func read(_ size: UInt32, minor: UInt32) throws(StructFault) -> Grown {
        let reader = StructReader(minor: minor, hostMinor: 1) { _, _ in }
        var given = Grown(struct_size: size)
        do {
            return try withUnsafePointer(to: &given) { try reader.read($0) }
        } catch let fault as StructFault {
            throw fault
        } catch {
            preconditionFailure("\(error)")
        }
    }

    @Test func `what an older plugin's struct does not reach is not given`() throws {
        #expect(try read(8, minor: 0) == Grown(struct_size: 8, old: 7, new: 0))
        // A plugin may be compiled with new headers and still fill only the old fields.
        #expect(try read(8, minor: 1) == Grown(struct_size: 8, old: 7, new: 0))
        #expect(try read(16, minor: 1) == Grown(struct_size: 16))
    }

    @Test func `a newer plugin's struct is cut`() throws {
        #expect(try read(4_000, minor: 2) == Grown(struct_size: 4_000))
    }

    @Test(
        arguments: [
            (0, 0, "contract 1.0 wants 8: sizeof(sbx_grown)"),
            (16, 0, "contract 1.0 wants 8: sizeof(sbx_grown)"),
            (7, 1, "contract 1.1 wants 8 to 16: sizeof(sbx_grown)"),
            (17, 1, "contract 1.1 wants 8 to 16: sizeof(sbx_grown)"),
            (7, 2, "contract 1.2 wants at least 8: sizeof(sbx_grown)"),
        ] as [(UInt32, UInt32, String)])
    func `another size is refused with words`(size: UInt32, minor: UInt32, wanted: String) {
        let fault = #expect(throws: StructFault.self) { try read(size, minor: minor) }
        #expect(
            fault?.words(in: "emit()")
                == "set struct_size of sbx_grown to \(size) in emit(); \(wanted)")
    }

    @Test func `a stride holds the struct as long as it says it is`() throws {
        let reader = StructReader(minor: 0, hostMinor: 0) { _, _ in }
        let newer = StructReader(minor: 1, hostMinor: 0) { _, _ in }
        var given = [Grown(struct_size: 8, old: 1, new: 0), Grown(struct_size: 8, old: 2, new: 0)]
        try given.withUnsafeBufferPointer { given in
            let first = try #require(given.baseAddress)
            #expect(try reader.read(first, 1, stride: 16).old == 2)
            for stride in [0, 4, 12, -16] {
                #expect(throws: StructFault.self) { try reader.read(first, 1, stride: stride) }
            }
        }
        given[0].struct_size = 16
        try given.withUnsafeBufferPointer { given in
            let first = try #require(given.baseAddress)
            #expect(throws: StructFault.self) { try newer.read(first, 0, stride: 8) }
            #expect(try newer.read(first, 0, stride: 16).new == 0)
        }
    }
}
