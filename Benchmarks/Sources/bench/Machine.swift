import Foundation

/// Describes the machine of the measurement.
enum Machine {
    static var words: String {
        let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model =
            info.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        let kernel =
            (try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)) ?? ""
        return """
            \(ProcessInfo.processInfo.activeProcessorCount) cores, \(model), Linux \
            \(kernel.trimmingCharacters(in: .whitespacesAndNewlines))
            \(version(["h2load", "--version"])), \(version(["openssl", "version"]))
            """
    }

    private static func version(_ command: [String]) -> String {
        let text = (try? Child(command).rest()) ?? "\(command[0]): not there"
        return text.split(separator: "\n").first.map(String.init) ?? ""
    }
}

extension Bench {
    /// (a) The limit that the wire sets.
    func limits() throws {
        let sink = try Sink(self)
        defer { sink.stop() }
        note(
            "h2load_per_second", try limit(sink),
            "h2load at the sink, one connection, one core each")
    }
}
