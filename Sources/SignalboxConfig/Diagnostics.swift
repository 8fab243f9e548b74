public import SignalboxCore

/// The faults found in one configuration; used by one thread.
final class Diagnostics {
    var all: [Diagnostic] = []
    /// Positions of stand-ins for missing values, whose faults would be meaningless.
    var standIns: Set<SourcePosition> = []
    /// Files that values were read from.
    var files: [FilledFile] = []

    /// Positions of values whose variable or file was empty.
    var blanks: Set<SourcePosition> = []

    func report(_ code: String, at position: SourcePosition, _ message: String) {
        guard !standIns.contains(position) else { return }
        all.append(Diagnostic(code, at: position, message))
    }
}

extension [Diagnostic] {
    /// The diagnostics in file order, without duplicates.
    public var inOrder: [Diagnostic] {
        var seen: Set<Diagnostic> = []
        return sorted {
            ($0.position.line, $0.position.column, $0.code)
                < ($1.position.line, $1.position.column, $1.code)
        }.filter { seen.insert($0).inserted }
    }
}
