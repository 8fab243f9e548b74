import Foundation

/// One run: its paths and its results.
final class Bench {
    /// The measured program.
    let signalbox: String
    /// `signalbox-bench`, in the same folder, measures inside the program.
    var measure: String { "\(signalbox)-bench" }
    let wire: String
    /// Keys and databases of this run, removed at its end.
    let folder: String
    /// The sink has a core of its own; a program that is measured alone has the other.
    let sinkCore = ProcessInfo.processInfo.activeProcessorCount > 1 ? 1 : 0
    let workCore = 0
    /// h2load's rates so far: the machine's speed drifts.
    var rates: [Double] = []
    private(set) var figures: [(name: String, value: Double)] = []
    private(set) var faults: [String] = []
    private var count = 0
    /// Work is divided by this.
    private let part: Int

    init(signalbox: String, wire: String, part: Int) throws {
        self.signalbox = signalbox
        self.wire = wire
        self.part = part
        folder =
            FileManager.default.temporaryDirectory.appending(
                path: "signalbox-bench-\(UUID().uuidString)"
            ).path
        _ = try Child(["\(signalbox)-bench", "keys", "--folder", folder]).rest()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// So many, or less if the run is a small one, in whole `steps`.
    func some(_ count: Int, steps: Int = 1) -> Int { max(1, count / steps / part) * steps }

    /// Returns a new folder.
    func fresh(_ name: String) throws -> String {
        count += 1
        let path = "\(folder)/\(name)-\(count)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return path
    }

    /// Records a figure and prints it.
    func note(_ name: String, _ value: Double, _ words: String) {
        figures.append((name, value))
        let number = value >= 100 ? String(Int(value.rounded())) : String(format: "%.3f", value)
        let columns = [
            name.padding(toLength: max(34, name.count), withPad: " ", startingAt: 0),
            String(repeating: " ", count: max(0, 10 - number.count)) + number,
        ]
        Output.line(columns.joined(separator: " ") + "  " + words)
    }

    /// Checks a condition that the figures depend on.
    func require(_ isSo: Bool, _ words: String) {
        guard !isSo else { return }
        faults.append(words)
        Output.line("WRONG: \(words)")
    }

    /// Takes a figure between two runs of h2load. Returns its rate, and its ratio to h2load's.
    func compared(_ sink: Sink, _ body: () throws -> Double) throws -> (rate: Double, ratio: Double)
    {
        let before = try limit(sink)
        let rate = try body()
        let after = try limit(sink)
        return (rate, rate / ((before + after) / 2))
    }

    /// The figures as one flat JSON object.
    var json: String {
        "{" + figures.map { "\"\($0.name)\": \($0.value)" }.joined(separator: ", ") + "}\n"
    }
}
