internal import CSignalbox

/// A struct size or array stride that does not fit the contract the plugin was compiled for.
package struct StructFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// What is wrong.
    package enum Kind: Sendable { case size, stride }

    /// What is wrong.
    package let kind: Kind
    /// What the plugin did, without the call: names the struct and the value it gave.
    let what: String
    let wanted: String

    /// The fault as a message.
    package var description: String { "\(what); \(wanted)" }

    /// The fault as a message that names the call.
    package func words(in call: String) -> String { "\(what) in \(call); \(wanted)" }
}

/// Reads the structs that one plugin hands over.
///
/// `struct_size` says how far the plugin's struct reaches: at least as far as in contract 1.0, and at
/// most as far as in the minor the plugin names. Any other value means that it was not set or is
/// something else, so the whole struct is rejected.
package struct StructReader: Sendable {
    /// The minor that the plugin was compiled for.
    private let minor: UInt32
    /// The plugin's minor is newer than the host's.
    private let isNewer: Bool
    private let report: @Sendable (_ fault: StructFault, _ call: String) -> Void

    /// A reader for a plugin compiled for contract 1.`minor`.
    package init(
        minor: UInt32, hostMinor: UInt32? = nil,
        report: @escaping @Sendable (_ fault: StructFault, _ call: String) -> Void
    ) {
        self.minor = minor
        isNewer = minor > hostMinor ?? SBX_ABI_MINOR
        self.report = report
    }

    /// Runs `body`, which reads the arguments of a call; nil if it rejects a struct, which is reported.
    package func reading<Result>(
        _ call: String, _ body: () throws(StructFault) -> Result
    ) -> Result? {
        do throws(StructFault) {
            return try body()
        } catch {
            report(error, call)
            return nil
        }
    }

    /// A struct at the size this host knows; fields beyond the plugin's size are zero.
    package func read<Struct: PluginStruct>(
        _ given: UnsafePointer<Struct>
    ) throws(StructFault) -> Struct {
        let size = try size(of: given)
        if size >= MemoryLayout<Struct>.size { return given.pointee }
        return withUnsafeTemporaryAllocation(of: Struct.self, capacity: 1) { room in
            let bytes = UnsafeMutableRawBufferPointer(room)
            bytes.initializeMemory(as: UInt8.self, repeating: 0)
            bytes.copyMemory(from: UnsafeRawBufferPointer(start: given, count: size))
            return room[0]
        }
    }

    /// How far a struct reaches, in bytes.
    func size<Struct: PluginStruct>(of given: UnsafePointer<Struct>) throws(StructFault) -> Int {
        let size = Int(given.pointee.struct_size)
        guard size >= Struct.size(minor: 0), isNewer || size <= Struct.size(minor: minor) else {
            throw fault(of: Struct.self, size: size)
        }
        return size
    }

    /// A host struct that the plugin has filled. A changed `struct_size` means that the plugin put another
    /// struct in its place and may have written beyond its end.
    func filled<Struct: PluginStruct>(_ filled: Struct) throws(StructFault) -> Struct {
        let size = MemoryLayout<Struct>.size
        if Int(filled.struct_size) == size { return filled }
        throw StructFault(
            kind: .size, what: "set struct_size of \(Struct.name) to \(filled.struct_size)",
            wanted: "the host had set it to \(size): fill the fields, and leave it")
    }

    /// Element `index` of an array.
    package func read<Struct: PluginStruct>(
        _ first: UnsafePointer<Struct>, _ index: Int, stride: Int
    ) throws(StructFault) -> Struct {
        // A wrong stride is rejected before anything is read.
        guard isStride(stride, atLeast: Struct.size(minor: 0), Struct.self) else {
            throw fault(of: Struct.self, stride: stride, atLeast: Struct.size(minor: 0))
        }
        let given = first.element(index, stride: stride)
        let element = try read(given)
        guard stride >= Int(given.pointee.struct_size) else {
            throw fault(
                of: Struct.self, stride: stride, atLeast: Int(given.pointee.struct_size))
        }
        return element
    }

    private func isStride<Struct: PluginStruct>(
        _ stride: Int, atLeast size: Int, _ type: Struct.Type
    ) -> Bool {
        stride >= size && stride % MemoryLayout<Struct>.alignment == 0
    }

    private func fault<Struct: PluginStruct>(of type: Struct.Type, size: Int) -> StructFault {
        let (least, most) = (Struct.size(minor: 0), Struct.size(minor: minor))
        let wanted =
            isNewer ? "at least \(least)" : least == most ? "\(least)" : "\(least) to \(most)"
        return StructFault(
            kind: .size, what: "set struct_size of \(Struct.name) to \(size)",
            wanted: "contract 1.\(minor) wants \(wanted): sizeof(\(Struct.name))")
    }

    private func fault<Struct: PluginStruct>(
        of type: Struct.Type, stride: Int, atLeast size: Int
    ) -> StructFault {
        StructFault(
            kind: .stride, what: "gave a stride of \(stride) for \(Struct.name)",
            wanted: "it must be at least \(size), a multiple of \(MemoryLayout<Struct>.alignment)")
    }
}
