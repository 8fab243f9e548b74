import Glibc
import Signalbox
import SignalboxDevTools
import SignalboxPluginHost
import SignalboxThreads

/// Reloads changed plugin files in a running gateway.
enum ReloadBench {
    /// The cost per reload.
    struct Report: Sendable {
        /// The median time.
        let p50Ms: Double
        /// Growth of the resident memory, in KiB, without the first ten reloads, which fill caches.
        let residentKiB: Double
        /// Instances that each reload replaced.
        let instances: Int
    }

    /// Reloads `count` times, each time with changed plugin files.
    ///
    /// `folder` is created and gets copies of the plugins `names`.
    static func run(
        _ options: GatewayOptions, names: [String], folder: String, count: Int
    ) async throws -> Report {
        mkdir(folder, 0o700)
        var options = options
        var sources: [String: [UInt8]] = [:]
        for name in names {
            let file = "lib\(name).so"
            for place in options.searchPath.folders where sources[file] == nil {
                sources[file] = read("\(place)/\(file)")
            }
        }
        for (file, bytes) in sources { try replace("\(folder)/\(file)", with: bytes) }
        options.addPluginFolders([folder])
        let demo = try await Demo.start(options)
        var times: [Double] = []
        var early = 0
        var instances = 0
        for round in 0..<count {
            for (file, bytes) in sources { try replace("\(folder)/\(file)", with: bytes) }
            let start = SystemClock.monotonicNs
            instances = try await demo.gateway.reload().changed.count
            times.append(Double(SystemClock.monotonicNs - start) / 1e6)
            if round == 9 { early = residentKiB }
        }
        let grown = Double(residentKiB - early) / Double(max(1, count - 10))
        await demo.stop()
        for file in sources.keys { unlink("\(folder)/\(file)") }
        rmdir(folder)
        return Report(
            p50Ms: times.sorted()[times.count / 2], residentKiB: grown, instances: instances)
    }

    private static func read(_ path: String) -> [UInt8]? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while case let count = fread(&chunk, 1, chunk.count, file), count > 0 {
            bytes += chunk[..<count]
        }
        return bytes
    }

    /// Replaces a file with an atomic rename, as an update does.
    private static func replace(_ path: String, with bytes: [UInt8]) throws {
        guard let file = fopen(path + ".new", "we") else {
            throw BenchFault(description: "cannot write \(path).new")
        }
        let count = bytes.withUnsafeBytes { fwrite($0.baseAddress, 1, $0.count, file) }
        guard fclose(file) == 0, count == bytes.count, rename(path + ".new", path) == 0 else {
            throw BenchFault(description: "cannot write \(path)")
        }
    }

    private static var residentKiB: Int { Int(StoreBench.residentMiB * 1024) }
}
