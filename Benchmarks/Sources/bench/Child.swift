import Foundation

/// An error message for the person who runs the benchmark.
struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A program that runs beside this one and ends with it.
final class Child {
    let process = Process()
    private let orders = Pipe()
    private let answers = Pipe()
    private var unread = Data()
    private let name: String

    /// Starts a program, pinned to one core if `core` is given.
    ///
    /// It shares our standard error unless `isQuiet`.
    init(_ command: [String], core: Int? = nil, isQuiet: Bool = false) throws {
        name = command[0]
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = (core.map { ["taskset", "-c", "\($0)"] } ?? []) + command
        process.standardInput = orders
        process.standardOutput = answers
        if isQuiet { process.standardError = FileHandle.nullDevice }
        try process.run()
    }

    /// The next line that the program prints.
    func line() throws -> String {
        while true {
            if let end = unread.firstIndex(of: 10) {
                defer { unread.removeSubrange(...end) }
                return String(decoding: unread[..<end], as: UTF8.self)
            }
            let more = answers.fileHandleForReading.availableData
            guard !more.isEmpty else { throw Failure("\(name) ended without an answer") }
            unread.append(more)
        }
    }

    /// Everything that the program prints until its end, which must be a success.
    func rest() throws -> String {
        unread.append(answers.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(
                "\(name) ended with \(process.terminationStatus): "
                    + String(decoding: unread, as: UTF8.self))
        }
        return String(decoding: unread, as: UTF8.self)
    }

    /// Sends the program a line. Returns the answer.
    func ask(_ order: String) throws -> String {
        orders.fileHandleForWriting.write(Data((order + "\n").utf8))
        return try line()
    }

    /// Stops the program and waits for its end.
    func stop(_ signal: Int32 = SIGTERM) {
        kill(process.processIdentifier, signal)
        process.waitUntilExit()
    }

    /// Runs a program to its end. Returns the numbers of the JSON on its last line.
    static func figures(_ command: [String], core: Int? = nil) throws -> [String: Double] {
        let text = try Child(command, core: core).rest()
        return try Figures.parse(String(text.split(separator: "\n").last ?? ""))
    }
}

/// Figures of a process from /proc.
struct ProcessFacts {
    let pid: Int32

    /// Memory in MiB: current resident size, and peak.
    var memory: (now: Double, peak: Double) {
        (status("VmRSS:"), status("VmHWM:"))
    }

    private func status(_ key: String) -> Double {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(key) } ?? ""
        return
            (Double(line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first ?? "") ?? 0)
            / 1024
    }

    /// The processor time used, in seconds.
    var cpuSeconds: Double {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12 else { return 0 }
        let ticks = (Double(fields[11]) ?? 0) + (Double(fields[12]) ?? 0)
        return ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// Parses lines of JSON with numbers by name.
enum Figures {
    static func parse(_ line: String) throws -> [String: Double] {
        guard let json = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
        else { throw Failure("not a line of figures: \(line)") }
        return json.compactMapValues { ($0 as? NSNumber)?.doubleValue }
    }
}
