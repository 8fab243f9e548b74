internal import CSignalbox

/// The C struct of a sink.
package protocol SinkStruct {
    /// Its `state`.
    var owner: UnsafeMutableRawPointer? { get set }
}

/// A sink that a plugin gets as a struct whose `state` leads to it.
package protocol HostSink: AnyObject {
    /// Its struct.
    associatedtype Table: SinkStruct & BitwiseCopyable
    /// The structs that plugins get.
    static var slots: SinkSlots<Table> { get }
    /// A struct with functions and without state.
    static var functions: Table { get }
}

extension HostSink {
    /// The sink that a struct leads to; nil after its call.
    static func from(_ sink: UnsafeMutablePointer<Table>?) -> Self? {
        guard let state = sink?.pointee.owner else { return nil }
        return Unmanaged<Self>.fromOpaque(state).takeUnretainedValue()
    }

    /// The struct in the caller's memory, for one call that the caller controls.
    package func table(in arena: CArena) -> UnsafeMutablePointer<Table> {
        let table = arena.make(Table.self)
        table.pointee = Self.functions
        table.pointee.owner = Unmanaged.passUnretained(self).toOpaque()
        return table
    }

    /// Lends the struct to the plugin for one call.
    func lent<Result>(
        to context: InstanceContext, _ call: (UnsafeMutablePointer<Table>) -> Result
    ) -> Result {
        let table = Self.slots.take(for: context) {
            $0.owner = Unmanaged.passUnretained(self).toOpaque()
        }
        defer { Self.slots.giveBack(table) }
        return call(table)
    }
}
